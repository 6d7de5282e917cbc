#include "rewrite/loops.hpp"

#include <algorithm>
#include <set>

#include "rewrite/loop_set.hpp"
#include "rewrite/single_steps.hpp"

namespace croton::rewrite {
namespace {

using expr::Arena;
using expr::Core;
using expr::Graph;
using expr::Ints;
using expr::Loop;
using expr::LoopResult;
using expr::no_node;

constexpr std::string_view unused = "loop-unused", residuals = "loop-residuals", sums = "loop-sums",
                           transposed = "loop-transposed", last = "loop-last";

const Rule rules[] = {
    single_step_rule,
    {.name = unused, .text = "loop", .reason = "values of a loop that nothing reads are not computed"},
    {.name = residuals,
     .text = "loop",
     .reason = "a product that one loop computes and another, of its gradient, computes again is kept"},
    {.name = sums, .text = "loop", .reason = "a sum of products over the steps is one product after the loop"},
    {.name = transposed, .text = "loop", .reason = "a matrix is transposed once, not in each step"},
    {.name = last, .text = "loop", .reason = "only the last rows of a state are kept where only they are read"},
};

bool is_transposed(const Arena& arena, NodeId node) {
  return arena.op(node).is(Core::dimshuffle) && arena.attrs(node).ints("pattern") == Ints{1, 0};
}

class LoopRewriter : LoopSet {
 public:
  using LoopSet::LoopSet;

  bool run() {
    if (loops_.empty()) return false;
    for (LoopEdit& edit : loops_) drop_unused(edit);
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      if (is_on(residuals)) keep_products(l);
    }
    for (LoopEdit& edit : loops_) {
      if (is_on(sums)) sum_after_loop(edit);
      if (is_on(transposed)) transpose_before_loop(edit);
      if (is_on(last)) keep_last_rows(edit);
    }
    if (std::ranges::none_of(loops_, &LoopEdit::changed)) return false;
    build();
    return true;
  }

 private:
  /// Drops stacked results that are not read, and the states that only they need.
  void drop_unused(LoopEdit& edit) {
    stack_wanted(edit);
    if (!is_on(unused)) {
      for (std::size_t k = 0; k < edit.loop.stacked; ++k) edit.stack(edit.body.outputs[edit.loop.stacked_output(k)]);
    }
    edit.find_needed();
    const bool all = std::ranges::all_of(edit.states, &LoopEdit::State::needed);
    if (is_on(unused) && (!all || edit.stacked.size() < edit.loop.stacked)) note(edit, unused);
  }

  // ---- products that two loops compute ----

  /// For each node of the body, the node of another loop's body with the same value in each step, or no_node.
  std::vector<NodeId> common_nodes(const LoopEdit& edit, LoopEdit& other) const {
    std::vector<NodeId> same(edit.body_size, no_node);
    for (const LoopEdit::Sequence& sequence : edit.sequences)
      same[sequence.body_node] = element_in(sequence.outer, other);
    for (const LoopEdit::Capture& capture : edit.captures) {
      const auto at = std::ranges::find(other.captures, capture.outer, &LoopEdit::Capture::outer);
      if (at != other.captures.end()) same[capture.body_node] = at->body_node;
    }
    for (NodeId id = 0; id < edit.body_size; ++id) {
      const Arena& body = edit.body.arena;
      if (body.op(id).kind == expr::Kind::Leaf) {
        if (const auto value = body.scalar_value(id)) same[id] = other.body.arena.scalar(*value);
        continue;
      }
      if (body.op(id).kind != expr::Kind::Contract && body.op(id).kind != expr::Kind::Map) continue;
      std::vector<NodeId> inputs;
      for (const NodeId input : body.inputs(id)) inputs.push_back(same[input]);
      if (std::ranges::find(inputs, no_node) != inputs.end()) continue;
      const NodeId found = other.body.arena.make(body.op(id), inputs, body.attrs(id), body.node(id).place);
      if (found < other.body_size) same[id] = found;
    }
    return same;
  }

  /// The node of `other`'s body that is, in each step, the element of `sequence` at that step's position; no_node if
  /// there is none. The length of the sequence must be the number of steps of `other`.
  NodeId element_in(NodeId sequence, const LoopEdit& other) const {
    for (const LoopEdit::Sequence& own : other.sequences) {
      if (own.outer == sequence && sequence != no_node) return own.body_node;
    }
    if (sequence == no_node || !arena_.op(sequence).is(Core::subtensor) || other.loop.reverse) return no_node;
    const NodeId history = arena_.input(sequence, 0);
    const Ints& spec = arena_.attrs(sequence).ints("spec");
    // history[offset : offset + steps]
    if (loop_at(history) != &other || spec.size() != 4 || spec[0] != 1 || spec[1] != 1 || spec[3] != 1) return no_node;
    const auto start = arena_.scalar_value(arena_.input(sequence, 1));
    const Loop result(arena_.attrs(history), other.inputs.size());
    if (!start || result.result != LoopResult::history || !has_steps_of(sequence, other)) return no_node;
    for (const auto& [offset, tap] : other.states[result.index].taps) {
      if (offset == start->as_int()) return tap;
    }
    return no_node;
  }
  bool has_steps_of(NodeId x, const LoopEdit& edit) const {
    return arena_.same_dim(arena_.type(x).shape[0], steps_of(edit));
  }

  void keep_products(std::size_t l) {
    LoopEdit& edit = loops_[l];
    for (std::size_t o = 0; o < l; ++o) {
      LoopEdit& other = loops_[o];
      if (other.loop.until || other.loop.reverse || edit.place != other.place ||
          !arena_.same_dim(steps_of(edit), steps_of(other)))
        continue;
      const std::vector<NodeId> same = common_nodes(edit, other);
      const std::vector<bool> needed = edit.find_needed();
      std::set<NodeId> kept;
      for (NodeId id = 0; id < edit.body_size; ++id) {
        if (needed[id] && same[id] != no_node && edit.body.arena.op(id).is(Core::dot))
          kept.insert(enclosing_sum(edit, same, needed, id));
      }
      for (const NodeId id : kept) {
        // A product from which only other kept ones are computed is not needed any more.
        if (edit.element(id) != nullptr || !edit.find_needed()[id]) continue;
        if (other.is_tap(same[id]) || other.element(same[id]) != nullptr || other.is_next(same[id])) continue;
        edit.sequences.push_back({no_node, id, o, other.stack(same[id])});
        other.changed = true;
        note(edit, residuals);
      }
    }
  }

  /// The sum of several products around `id`, which is kept instead of each product.
  NodeId enclosing_sum(const LoopEdit& edit, const std::vector<NodeId>& same, const std::vector<bool>& needed,
                       NodeId id) const {
    const Arena& body = edit.body.arena;
    for (;;) {
      NodeId reader = no_node;
      int readers = 0;
      for (NodeId other = id + 1; other < edit.body_size; ++other) {
        if (!needed[other] || std::ranges::find(body.inputs(other), id) == body.inputs(other).end()) continue;
        reader = other;
        ++readers;
      }
      if (readers != 1 || same[reader] == no_node || !body.op(reader).is(Core::add)) return id;
      if (!body.same_shape(body.type(reader).shape, body.type(id).shape)) return id;
      id = reader;
    }
  }

  // ---- sums over the steps ----

  /// Whether the node is an element of a sequence, or may be stacked.
  bool can_stack(const LoopEdit& edit, NodeId node) const {
    return edit.element(node) != nullptr || (!edit.is_tap(node) && !edit.is_next(node));
  }

  void sum_after_loop(LoopEdit& edit) {
    if (edit.loop.until) return;
    const Arena& body = edit.body.arena;
    std::vector<LoopEdit::Sum> reductions;
    for (std::size_t j = 0; j < edit.states.size(); ++j) {
      const LoopEdit::State& state = edit.states[j];
      const NodeId next = state.next;
      if (state.rows != 1 || state.taps.size() != 1 || !body.op(next).is(Core::add) ||
          edit.wanted.contains({LoopResult::history, j}) || !edit.wanted.contains({LoopResult::last, j}))
        continue;
      const NodeId tap = state.taps[0].second;
      if (body.input(next, 0) != tap && body.input(next, 1) != tap) continue;
      const NodeId term = body.input(next, body.input(next, 0) == tap ? 1 : 0);
      if (term == tap || count_reads(edit, tap) != 1) continue;
      if (body.op(term).is(Core::dot) && is_transposed(body, body.input(term, 0))) {
        const NodeId left = body.input(body.input(term, 0), 0), right = body.input(term, 1);
        if (body.type(left).rank() != 2 || body.type(right).rank() != 2 || !can_stack(edit, left) ||
            !can_stack(edit, right))
          continue;
        edit.sums.push_back({j, left, right});
        note(edit, sums);
      } else if (body.op(term).is(Core::sum) && can_stack(edit, body.input(term, 0))) {
        reductions.push_back({j, no_node, body.input(term, 0), body.attrs(term).ints("axes")});
      }
    }
    // Only sums of arrays that are kept anyway.
    for (const LoopEdit::Sum& sum : reductions) {
      const bool kept = std::ranges::any_of(edit.sums, [&](const auto& other) { return other.right == sum.right; });
      if (!kept) continue;
      edit.sums.push_back(sum);
      note(edit, sums);
    }
    for (const LoopEdit::Sum& sum : edit.sums) {
      if (sum.left != no_node && edit.element(sum.left) == nullptr) edit.stack(sum.left);
      if (edit.element(sum.right) == nullptr) edit.stack(sum.right);
    }
  }
  /// How often nodes of the body read a node, plus how often the body returns it.
  static int count_reads(LoopEdit& edit, NodeId node) {
    const std::vector<bool> needed = edit.find_needed();
    int count = 0;
    for (NodeId id = node + 1; id < edit.body_size; ++id) {
      if (needed[id]) count += base::to_int(std::ranges::count(edit.body.arena.inputs(id), node));
    }
    for (const NodeId output : edit.body.outputs) count += output == node ? 1 : 0;
    return count;
  }

  // ---- matrices that are the same in all steps ----

  void transpose_before_loop(LoopEdit& edit) {
    const std::vector<bool> needed = edit.find_needed();
    const Arena& body = edit.body.arena;
    for (NodeId id = 0; id < edit.body_size; ++id) {
      if (!needed[id] || !body.op(id).is(Core::dot)) continue;
      const NodeId right = body.input(id, 1);
      if (!is_transposed(body, right)) continue;
      const auto at = std::ranges::find(edit.captures, body.input(right, 0), &LoopEdit::Capture::body_node);
      if (at == edit.captures.end() || at->transposed) continue;
      if (std::ranges::find(edit.captures, right, &LoopEdit::Capture::body_node) != edit.captures.end()) continue;
      edit.captures.push_back({at->outer, right, true});
      note(edit, transposed);
    }
  }

  // ---- the last rows ----

  /// The row, counted from the end, that a node reads of its first input; nothing for other nodes.
  std::optional<std::int64_t> row_from_end(NodeId node) const {
    if (!arena_.op(node).is(Core::subtensor) || arena_.attrs(node).ints("spec") != Ints{0, 1, 0, 1}) return {};
    const auto index = arena_.scalar_value(arena_.input(node, 1));
    return index && index->as_int() < 0 ? std::optional(-index->as_int()) : std::nullopt;
  }
  void keep_last_rows(LoopEdit& edit) {
    if (edit.loop.until) return;
    for (std::size_t j = 0; j < edit.states.size(); ++j) {
      const auto found = edit.wanted.find({LoopResult::history, j});
      if (found == edit.wanted.end() || roots_[found->second]) continue;
      std::vector<std::pair<NodeId, std::int64_t>> picks;
      bool all = true;
      const auto add = [&](NodeId reader) {
        const auto row = row_from_end(reader);
        all = all && row && *row <= edit.states[j].rows;
        if (row) picks.emplace_back(reader, *row);
      };
      for (const NodeId reader : readers_[found->second]) {
        const bool skips_initial = arena_.op(reader).is(Core::subtensor) && !roots_[reader] &&
                                   arena_.attrs(reader).ints("spec") == Ints{1, 1, 0, 1} &&
                                   arena_.scalar_value(arena_.input(reader, 1)) &&
                                   arena_.scalar_value(arena_.input(reader, 1))->as_int() == edit.states[j].rows;
        if (!skips_initial) {
          add(reader);
          continue;
        }
        // Only the last row: without steps history[rows:] is empty, and the requirement that forbids it stays.
        for (const NodeId next : readers_[reader]) {
          add(next);
          all = all && row_from_end(next) == 1;
        }
      }
      if (!all || picks.empty()) continue;
      for (const auto& [node, row] : picks) history_rows_[node] = {number_of(edit), j, row};
      edit.wanted.erase(found);
      edit.wanted.emplace(std::pair(LoopResult::last, j), no_node);
      note(edit, last);
    }
  }
};

}  // namespace

std::span<const Rule> loop_rules() { return rules; }

bool rewrite_loops(Graph& graph, const Options& options, Fired& fired) {
  const Arena& arena = graph.arena;
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (arena.op(id).kind == expr::Kind::Loop) return LoopRewriter(graph, options, fired).run();
  }
  return false;
}

}  // namespace croton::rewrite
