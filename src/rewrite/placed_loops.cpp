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
using expr::Graph;
using expr::Kind;
using expr::LoopResult;
using expr::no_node;
using expr::Place;

constexpr std::string_view merged = "loop-merged", in_front = "loop-products-in-front", behind = "loop-products-behind";

const Rule rules[] = {
    {.name = merged, .text = "loop", .reason = "loops of as many steps that do not need each other run as one"},
    {.name = in_front,
     .text = "loop",
     .reason = "a product of each element of a sequence is one product of the sequence, in front of the loop"},
    {.name = behind,
     .text = "loop",
     .reason = "a product that a loop only gives back is one product of all steps, behind the loop"},
};

// On a CPU a product of a few dozen rows with a matrix that stays in a second-level cache is faster inside the loop:
// what it multiplies is still in the caches, and its result need not leave them. Fewer rows than these do not fill the
// vector registers, and a larger matrix (expr::most_right_bytes_cpu) is read from further away in each step.
constexpr std::int64_t few_rows = 8;
// What is moved out of a loop has this many ops at most.
constexpr int most_moved = 64;

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
      if (edit.home != LoopEdit::itself || edit.loop.until) continue;
      if (is_on(in_front)) move_in_front(edit);
      if (is_on(behind)) move_behind(edit);
    }
    if (std::ranges::none_of(loops_, &LoopEdit::changed)) return false;
    build();
    return true;
  }

 private:
  Place place_of(const LoopEdit& edit) const { return place_[number_of(edit)]; }
  bool on_gpu(const LoopEdit& edit) const {
    const Place place = place_of(edit);
    return place != host_place && base::DeviceName::of_place(place).kind == base::DeviceName::Kind::cuda;
  }

  // ---- loops that run as one ----

  void merge() {
    find_dependences();
    for (std::size_t a = 0; a < loops_.size(); ++a) {
      for (std::size_t b = a + 1; b < loops_.size() && loops_[a].home == LoopEdit::itself; ++b) {
        if (loops_[b].home != LoopEdit::itself || !fit_together(a, b)) continue;
        loops_[a].take_in(loops_[b], a);
        note(loops_[a], merged);
        depend_alike(a, b);
      }
    }
  }

  /// Which loops each loop needs results of, by way of others too.
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
  void depend_alike(std::size_t a, std::size_t b) {
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

  bool fit_together(std::size_t a, std::size_t b) const {
    const LoopEdit &one = loops_[a], &other = loops_[b];
    return !needs_[a][b] && !needs_[b][a] && one.place == other.place && place_of(one) == place_of(other) &&
           one.loop.reverse == other.loop.reverse && !one.loop.until && !other.loop.until &&
           arena_.same_dim(steps_of(one), steps_of(other)) && rows_of(one) == rows_of(other) && is_one_launch(one) &&
           is_one_launch(other) && (on_gpu(one) || share_a_sequence(one, other));
  }
  /// On a GPU two chains of dependent steps take the time of one. A CPU gains where what one has read the other reads.
  static bool share_a_sequence(const LoopEdit& one, const LoopEdit& other) {
    return std::ranges::any_of(one.sequences, [&](const LoopEdit::Sequence& sequence) {
      return std::ranges::find(other.sequences, sequence.outer, &LoopEdit::Sequence::outer) != other.sequences.end();
    });
  }
  /// How many rows a state has, which threads and blocks share; no_node where states differ or have none.
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
  /// As far as its ops tell (plan/loop_form.hpp knows better): one of many launches is not mixed with one of a single
  /// one.
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
          if (body.op(id).name != "dot") return false;
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // ---- products outside of loops ----

  void move_in_front(LoopEdit& edit) {
    const std::vector<bool> needed = edit.find_needed();
    for (NodeId id = 0; id < edit.body_size; ++id) {
      int left = most_moved;
      bool batched = false;
      if (!needed[id] || edit.body.arena.op(id).name != "dot" || !pays(edit, id)) continue;
      if (!can_be_outside(edit, id, false, left, batched) || !batched) continue;
      edit.sequences.push_back({no_node, id, 0, 0, true});
      note(edit, in_front);
      // The loop has no need to give back what it is given.
      if (std::erase(edit.stacked, id) > 0) edit.behind.push_back(id);
    }
  }

  void move_behind(LoopEdit& edit) {
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
      int left = most_moved;
      bool batched = false;
      products_ = false;
      const bool moves = can_be_outside(edit, node, true, left, batched) && batched && products_;
      (moves ? moved : edit.stacked).push_back(node);
    }
    edit.wanted = wanted;
    for (const NodeId node : moved) keep_what_it_reads(edit, node);
    for (const NodeId node : moved) {
      const bool needed = edit.find_needed()[node];  // for what stays
      (needed ? edit.stacked : edit.behind).push_back(node);
      if (!needed) note(edit, behind);
    }
  }
  /// Results of the loop that a node behind it is computed from are wanted.
  void keep_what_it_reads(LoopEdit& edit, NodeId node) {
    if (edit.element(node) != nullptr || is_given(edit, node)) {
      for (std::size_t j = 0; j < edit.states.size() && !edit.loop.reverse; ++j) {
        if (edit.states[j].needed && edit.states[j].next == node)
          edit.wanted.emplace(std::pair(LoopResult::history, j), no_node);
      }
      return;
    }
    for (const NodeId input : edit.body.arena.inputs(node)) keep_what_it_reads(edit, input);
  }
  /// Rows of a state lie in the order of steps, which is that of positions but in reverse loops.
  static bool is_given(const LoopEdit& edit, NodeId node) {
    return std::ranges::find(edit.stacked, node) != edit.stacked.end() || (edit.is_next(node) && !edit.loop.reverse);
  }

  /// Whether LoopSet::outside can compute it of all steps at once. `given`: also from what the loop gives.
  bool can_be_outside(const LoopEdit& edit, NodeId node, bool given, int& left, bool& batched) {
    const Arena& body = edit.body.arena;
    if (--left < 0) return false;
    batched = edit.element(node) != nullptr || (given && is_given(edit, node));
    if (batched || edit.capture(node) != nullptr || body.scalar_value(node)) return true;
    const expr::Op& op = body.op(node);
    const bool product = op.name == "dot";
    if (op.kind != Kind::Map && op.kind != Kind::Reduce && op.name != "dimshuffle" && !product) return false;
    if (op.kind == Kind::Reduce && body.attrs(node).find("axes") == nullptr) return false;
    for (std::size_t i = 0; i < body.inputs(node).size(); ++i) {
      bool along = false;
      if (!can_be_outside(edit, body.input(node, i), given, left, along)) return false;
      // One matrix for all, and rows of all steps as the rows of one.
      if (product && along != (i == 0)) return false;
      batched = batched || along;
    }
    products_ = products_ || (product && pays(edit, node));
    return true;
  }

  /// Whether a product of all steps is better than one in each.
  bool pays(const LoopEdit& edit, NodeId product) const {
    if (on_gpu(edit)) return true;
    const Arena& body = edit.body.arena;
    const auto rows = body.known(body.representative(body.type(product).shape[0]));
    return (rows && *rows < few_rows) || bytes_of(edit, body.input(product, 1)) > expr::most_right_bytes_cpu;
  }
  /// Of a matrix of the body, as it is now or as its sizes are stated; 0 where nothing is known of it.
  std::int64_t bytes_of(const LoopEdit& edit, NodeId matrix) const {
    const Arena& body = edit.body.arena;
    while (edit.capture(matrix) == nullptr && body.op(matrix).name == "dimshuffle") matrix = body.input(matrix, 0);
    const LoopEdit::Capture* capture = edit.capture(matrix);
    if (capture == nullptr) return 0;
    NodeId outer = capture->outer;
    while (arena_.op(outer).name == "dimshuffle") outer = arena_.input(outer, 0);
    if (arena_.op(outer).name == "input") {
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
  std::vector<std::vector<bool>> needs_;  // of each loop, those whose results it needs
  bool products_ = false;                 // whether what was looked at has any that pays
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
