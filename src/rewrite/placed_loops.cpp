#include "rewrite/placed_loops.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/device_name.hpp"
#include "base/shape.hpp"
#include "expr/body.hpp"
#include "rewrite/loop_set.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Core;
using expr::Graph;
using expr::Kind;
using expr::LoopResult;
using expr::no_node;
using expr::Place;

constexpr std::string_view merged = "loop-merged", products_before = "loop-products-in-front",
                           products_after = "loop-products-behind";

const Rule rules[] = {
    {.name = merged, .text = "loop", .reason = "independent loops of equally many steps run as one"},
    {.name = products_before,
     .text = "loop",
     .reason = "a product of each element of a sequence is one product of the sequence, before the loop"},
    {.name = products_after,
     .text = "loop",
     .reason = "a product that a loop only returns is one product of all steps, after the loop"},
};

// On a CPU a product of a few dozen rows with a matrix that stays in a second-level cache is faster inside the loop:
// its operands and its result stay in the caches. Fewer rows than these do not fill the vector registers, and a larger
// matrix (expr::most_right_bytes_cpu) is read from a slower memory in each step.
constexpr std::int64_t few_rows = 8;
// Expressions with more ops are not moved out of a loop.
constexpr int max_moved_ops = 64;

class PlacedLoopRewriter : LoopSet {
 public:
  PlacedLoopRewriter(Graph& graph, const PlaceOptions& placing, const Options& options, Fired& fired)
      : LoopSet(graph, options, fired) {
    const std::vector<Place> places = decide_places(graph, placing);
    for (const LoopEdit& edit : loops_) place_.push_back(places[edit.wanted.begin()->second]);
  }

  bool run() {
    for (LoopEdit& edit : loops_) {
      stack_wanted(edit);
      edit.find_needed();
    }
    if (is_on(merged)) merge();
    for (LoopEdit& edit : loops_) {
      if (edit.merged_into != LoopEdit::not_merged || edit.loop.until) continue;
      if (is_on(products_before)) move_before_loop(edit);
      if (is_on(products_after)) move_after_loop(edit);
    }
    if (std::ranges::none_of(loops_, &LoopEdit::changed)) return false;
    build();
    return true;
  }

 private:
  Place place_of(const LoopEdit& edit) const { return place_[number_of(edit)]; }
  bool on_gpu(const LoopEdit& edit) const {
    const Place place = place_of(edit);
    return base::DeviceName::of_place(place).is_gpu();
  }

  // ---- loops that run as one ----

  void merge() {
    find_dependences();
    for (std::size_t a = 0; a < loops_.size(); ++a) {
      for (std::size_t b = a + 1; b < loops_.size() && loops_[a].merged_into == LoopEdit::not_merged; ++b) {
        if (loops_[b].merged_into != LoopEdit::not_merged || !can_merge(a, b)) continue;
        loops_[a].merge_loop(loops_[b], a);
        note(loops_[a], merged);
        merge_dependences(a, b);
      }
    }
  }

  /// Finds the loops whose results each loop needs, directly or indirectly.
  void find_dependences() {
    std::vector<std::vector<bool>> of_node(count_);
    needs_.assign(loops_.size(), std::vector<bool>(loops_.size()));
    for (NodeId id = 0; id < count_; ++id) {
      std::vector<bool>& own = of_node[id];
      for (const NodeId input : arena_.inputs(id)) {
        if (own.size() < of_node[input].size()) own.resize(loops_.size());
        for (std::size_t l = 0; l < of_node[input].size(); ++l) own[l] = own[l] || of_node[input][l];
      }
      if (loop_of_[id] == none) continue;
      own.resize(loops_.size());
      needs_[loop_of_[id]] = own;
      own[loop_of_[id]] = true;
    }
  }
  void merge_dependences(std::size_t a, std::size_t b) {
    const auto add = [&](std::vector<bool>& to, const std::vector<bool>& from) {
      for (std::size_t l = 0; l < from.size(); ++l) to[l] = to[l] || from[l];
    };
    add(needs_[a], needs_[b]);
    needs_[b] = needs_[a];
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      if (!needs_[l][a] && !needs_[l][b]) continue;
      add(needs_[l], needs_[a]);
      needs_[l][a] = needs_[l][b] = true;
    }
  }

  bool can_merge(std::size_t a, std::size_t b) const {
    const LoopEdit &one = loops_[a], &other = loops_[b];
    return !needs_[a][b] && !needs_[b][a] && one.place == other.place && place_of(one) == place_of(other) &&
           one.loop.reverse == other.loop.reverse && !one.loop.until && !other.loop.until &&
           arena_.same_dim(steps_of(one), steps_of(other)) && rows_of(one) == rows_of(other) && is_one_launch(one) &&
           is_one_launch(other) && (on_gpu(one) || shares_sequence(one, other));
  }
  /// On a GPU two chains of dependent steps take the time of one. A CPU gains if both loops read the same sequence.
  static bool shares_sequence(const LoopEdit& one, const LoopEdit& other) {
    return std::ranges::any_of(one.sequences, [&](const LoopEdit::Sequence& sequence) {
      return std::ranges::find(other.sequences, sequence.outer, &LoopEdit::Sequence::outer) != other.sequences.end();
    });
  }
  /// The number of rows of the states, over which threads and blocks are parallel; no_node if states differ or have
  /// none.
  NodeId rows_of(const LoopEdit& edit) const {
    NodeId rows = no_node;
    for (const LoopEdit::State& state : edit.states) {
      const std::vector<NodeId>& shape = arena_.type(state.initial).shape;
      if (shape.size() < 2) return no_node;
      const NodeId own = arena_.representative(shape[1]);
      if (rows != no_node && rows != own) return no_node;
      rows = own;
    }
    return rows;
  }
  /// Whether the loop runs in one launch, judged by its ops (plan/loop_form.hpp decides exactly). A loop of one launch
  /// is not merged with one of many.
  static bool is_one_launch(const LoopEdit& edit) {
    const Arena& body = edit.body.arena;
    for (NodeId id = 0; id < edit.body_size; ++id) {
      switch (body.op(id).kind) {
        case Kind::Leaf:
        case Kind::Map:
        case Kind::Reduce:
        case Kind::Generate:
        case Kind::View:
        case Kind::Join:
        case Kind::Window:
        case Kind::Gather:
          break;
        case Kind::Contract:
          if (!body.op(id).is(Core::dot)) return false;
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // ---- products outside of loops ----

  void move_before_loop(LoopEdit& edit) {
    const std::vector<bool> needed = edit.find_needed();
    for (NodeId id = 0; id < edit.body_size; ++id) {
      int ops_left = max_moved_ops;
      bool batched = false;
      if (!needed[id] || !edit.body.arena.op(id).is(Core::dot) || !is_faster_outside(edit, id)) continue;
      if (!can_compute_outside(edit, id, false, ops_left, batched) || !batched) continue;
      edit.sequences.push_back({no_node, id, 0, 0, true});
      note(edit, products_before);
      // The loop need not return a value that it reads.
      if (std::erase(edit.stacked, id) > 0) edit.after_loop.push_back(id);
    }
  }

  void move_after_loop(LoopEdit& edit) {
    edit.find_needed();
    const auto wanted = edit.wanted;
    for (std::size_t j = 0; j < edit.states.size(); ++j) {
      if (edit.states[j].needed) edit.wanted.emplace(std::pair(LoopResult::history, j), no_node);
    }
    const std::vector<NodeId> stacked = std::exchange(edit.stacked, {});
    const std::vector<bool> for_states = edit.find_needed();
    const auto stays = [&](NodeId node) { return for_states[node] || edit.element(node) != nullptr; };
    std::ranges::copy_if(stacked, std::back_inserter(edit.stacked), stays);
    std::vector<NodeId> moved;
    for (const NodeId node : stacked) {
      if (stays(node)) continue;
      int ops_left = max_moved_ops;
      bool batched = false;
      has_fast_product_ = false;
      const bool moves = can_compute_outside(edit, node, true, ops_left, batched) && batched && has_fast_product_;
      (moves ? moved : edit.stacked).push_back(node);
    }
    edit.wanted = wanted;
    for (const NodeId node : moved) keep_read_results(edit, node);
    for (const NodeId node : moved) {
      const bool needed = edit.find_needed()[node];  // for results that stay in the loop
      (needed ? edit.stacked : edit.after_loop).push_back(node);
      if (!needed) note(edit, products_after);
    }
  }
  /// Marks the loop's results that a node computed after the loop reads as wanted.
  void keep_read_results(LoopEdit& edit, NodeId node) {
    if (edit.element(node) != nullptr || is_loop_result(edit, node)) {
      for (std::size_t j = 0; j < edit.states.size() && !edit.loop.reverse; ++j) {
        if (edit.states[j].needed && edit.states[j].next == node)
          edit.wanted.emplace(std::pair(LoopResult::history, j), no_node);
      }
      return;
    }
    for (const NodeId input : edit.body.arena.inputs(node)) keep_read_results(edit, input);
  }
  /// Whether a result of the loop has the node at all positions. The rows of a state are in the order of the steps,
  /// which is that of the positions unless the loop is reversed.
  static bool is_loop_result(const LoopEdit& edit, NodeId node) {
    return std::ranges::find(edit.stacked, node) != edit.stacked.end() || (edit.is_next(node) && !edit.loop.reverse);
  }

  /// Whether LoopSet::compute_outside can compute the node for all steps at once. `from_results`: also from the loop's
  /// results.
  bool can_compute_outside(const LoopEdit& edit, NodeId node, bool from_results, int& ops_left, bool& batched) {
    const Arena& body = edit.body.arena;
    if (--ops_left < 0) return false;
    batched = edit.element(node) != nullptr || (from_results && is_loop_result(edit, node));
    if (batched || edit.capture(node) != nullptr || body.scalar_value(node)) return true;
    const expr::Op& op = body.op(node);
    const bool product = op.is(Core::dot);
    if (op.kind != Kind::Map && op.kind != Kind::Reduce && !op.is(Core::dimshuffle) && !product) return false;
    if (op.kind == Kind::Reduce && body.attrs(node).find("axes") == nullptr) return false;
    for (std::size_t i = 0; i < body.inputs(node).size(); ++i) {
      bool along = false;
      if (!can_compute_outside(edit, body.input(node, i), from_results, ops_left, along)) return false;
      // The right matrix must be the same in all steps, and the left one has the rows of all steps.
      if (product && along != (i == 0)) return false;
      batched = batched || along;
    }
    has_fast_product_ = has_fast_product_ || (product && is_faster_outside(edit, node));
    return true;
  }

  /// Whether one product for all steps is faster than one in each step.
  bool is_faster_outside(const LoopEdit& edit, NodeId product) const {
    if (on_gpu(edit)) return true;
    const Arena& body = edit.body.arena;
    const auto rows = body.known(body.representative(body.type(product).shape[0]));
    return (rows && *rows < few_rows) || bytes_of(edit, body.input(product, 1)) > expr::most_right_bytes_cpu;
  }
  /// The bytes of a matrix of the body, by its current or its stated sizes; 0 if they are unknown.
  std::int64_t bytes_of(const LoopEdit& edit, NodeId matrix) const {
    const Arena& body = edit.body.arena;
    while (edit.capture(matrix) == nullptr && body.op(matrix).is(Core::dimshuffle)) matrix = body.input(matrix, 0);
    const LoopEdit::Capture* capture = edit.capture(matrix);
    if (capture == nullptr) return 0;
    NodeId outer = capture->outer;
    while (arena_.op(outer).is(Core::dimshuffle)) outer = arena_.input(outer, 0);
    if (arena_.op(outer).is(Core::input)) {
      const std::int64_t bytes = graph_.inputs[arena_.attrs(outer).index("index")].bytes;
      if (bytes > 0) return bytes;
    }
    std::int64_t total = base::element_size(arena_.type(outer).dtype);
    for (const NodeId dim : arena_.type(outer).shape) {
      const auto size = arena_.known(arena_.representative(dim));
      if (!size || (*size > 0 && total > INT64_MAX / *size)) return 0;
      total *= *size;
    }
    return total;
  }

  std::vector<Place> place_;              // of each loop
  std::vector<std::vector<bool>> needs_;  // for each loop, the loops whose results it needs
  bool has_fast_product_ = false;         // whether the last checked expression has a product that is faster outside
};

}  // namespace

std::span<const Rule> placed_loop_rules() { return rules; }

bool rewrite_placed_loops(Graph& graph, const PlaceOptions& placing, const Options& options, Fired& fired) {
  const Arena& arena = graph.arena;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (arena.op(id).kind == Kind::Loop) return PlacedLoopRewriter(graph, placing, options, fired).run();
  }
  return false;
}

}  // namespace croton::rewrite
