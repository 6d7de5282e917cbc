#include "rewrite/loop_set.hpp"

#include <croton/error.hpp>

#include <algorithm>

#include "expr/axes.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Core;
using expr::Graph;
using expr::Ints;
using expr::Kind;
using expr::Loop;
using expr::LoopResult;
using expr::no_node;

LoopSet::LoopSet(Graph& graph, const Options& options, Fired& fired)
    : graph_(graph), arena_(graph.arena), options_(options), fired_(fired), count_(arena_.size()) {
  const std::vector<bool> needed = expr::reachable(graph_);
  loop_of_.assign(count_, none);
  readers_.resize(count_);
  roots_.assign(count_, false);
  for (const NodeId root : graph_.roots()) roots_[root] = true;
  for (NodeId id = 0; id < count_; ++id) {
    if (!needed[id]) continue;
    for (const NodeId input : arena_.inputs(id)) readers_[input].push_back(id);
    if (arena_.op(id).kind != Kind::Loop) continue;
    const auto same = std::ranges::find_if(loops_, [&](const LoopEdit& edit) {
      const NodeId other = edit.wanted.begin()->second;
      return edit.place == arena_.node(id).place && std::ranges::equal(edit.inputs, arena_.inputs(id)) &&
             expr::without_result(arena_.attrs(other)) == expr::without_result(arena_.attrs(id));
    });
    LoopEdit& edit = same != loops_.end() ? *same : loops_.emplace_back(arena_, id);
    const Loop result(arena_.attrs(id), edit.inputs.size());
    edit.wanted.emplace(std::pair(result.result, result.index), id);
    loop_of_[id] = number_of(edit);
  }
}

bool LoopSet::is_on(std::string_view rule) const { return options_.is_on(rule); }

void LoopSet::note(LoopEdit& edit, std::string_view rule) {
  edit.changed = true;
  ++fired_[rule];
}

void LoopSet::stack_wanted(LoopEdit& edit) {
  for (std::size_t k = 0; k < edit.loop.stacked; ++k) {
    if (edit.wanted.contains({LoopResult::stacked, k})) edit.stack(edit.body.outputs[edit.loop.stacked_output(k)]);
  }
}

std::size_t LoopSet::merge_target(std::size_t l) const {
  return loops_[l].merged_into == LoopEdit::not_merged ? l : loops_[l].merged_into;
}

NodeId LoopSet::result(const LoopEdit& edit, const BuiltLoop& made, LoopResult kind, std::size_t index) {
  return arena_.make(expr::op(Core::loop), made.inputs, expr::result_attrs(made.attrs, kind, index), edit.place);
}

// ---- a loop as it is now ----

/// Nothing if the loop cannot be changed.
std::optional<LoopSet::BuiltLoop> LoopSet::make_loop(LoopEdit& edit) {
  std::vector<bool> needed = edit.find_needed();
  for (;;) {
    NodeId missing = no_node;
    std::optional<BuiltLoop> made = make_loop(edit, needed, missing);
    // The body may need the size of an input whose values it does not read any more.
    if (made || missing == no_node || needed[missing] || edit.is_tap(missing)) return made;
    needed[missing] = true;
  }
}

std::optional<LoopSet::BuiltLoop> LoopSet::make_loop(LoopEdit& edit, const std::vector<bool>& needed, NodeId& missing) {
  BuiltLoop made;
  Ints rows, taps;
  std::vector<NodeId> elements, tap_nodes, captured, outputs;
  made.inputs.push_back(to_[edit.inputs[Loop::steps_input]]);
  for (const LoopEdit::Sequence& sequence : edit.sequences) {
    if (!needed[sequence.body_node]) continue;
    if (sequence.outer == no_node && !sequence.before_loop && !built_[sequence.from]) return std::nullopt;
    elements.push_back(sequence.body_node);
    made.inputs.push_back(outer_of(edit, sequence));
  }
  made.state.resize(edit.states.size());
  for (std::size_t j = 0; j < edit.states.size(); ++j) {
    const LoopEdit::State& state = edit.states[j];
    if (!state.needed) continue;
    made.state[j] = rows.size();
    made.inputs.push_back(to_[state.initial]);
    for (const auto& [offset, node] : state.taps) {
      taps.insert(taps.end(), {std::ssize(rows), offset});
      tap_nodes.push_back(node);
    }
    rows.push_back(state.rows);
    outputs.push_back(state.next);
  }
  for (const LoopEdit::Capture& capture : edit.captures) {
    if (!needed[capture.body_node]) continue;
    captured.push_back(capture.body_node);
    made.inputs.push_back(outer_of(edit, capture));
  }
  const std::size_t sequences = elements.size();
  elements.insert(elements.end(), tap_nodes.begin(), tap_nodes.end());
  elements.insert(elements.end(), captured.begin(), captured.end());
  outputs.insert(outputs.end(), edit.stacked.begin(), edit.stacked.end());
  if (edit.loop.until) outputs.push_back(edit.body.outputs[edit.loop.condition()]);
  std::optional<Graph> body = rebuild_body(edit.body, elements, outputs, missing);
  if (!body) return std::nullopt;
  made.attrs = expr::loop_attrs(std::make_shared<const expr::Body>(std::move(*body)), sequences, rows, taps,
                                edit.loop.reverse, edit.loop.until);
  return made;
}

// ---- values computed outside of the loop ----

NodeId LoopSet::outer_of(LoopEdit& edit, const LoopEdit::Sequence& sequence) {
  bool batched = true;
  if (sequence.before_loop) return compute_outside(edit, nullptr, sequence.body_node, batched);
  if (sequence.outer != no_node) return to_[sequence.outer];
  return result(loops_[sequence.from], *built_[sequence.from], LoopResult::stacked, sequence.index);
}

NodeId LoopSet::outer_of(const LoopEdit& edit, const LoopEdit::Capture& capture) {
  const NodeId outer = to_[capture.outer];
  return capture.transposed ? transpose(outer, edit.place) : outer;
}

NodeId LoopSet::transpose(NodeId matrix, expr::Place place) {
  return arena_.make(Core::dimshuffle, {matrix}, {{"pattern", Ints{1, 0}}}, place);
}

/// A node of the body at all positions, as a sequence.
NodeId LoopSet::at_all_positions(LoopEdit& edit, const BuiltLoop& made, NodeId node) {
  if (const LoopEdit::Sequence* sequence = edit.element(node)) return outer_of(edit, *sequence);
  return result(edit, made, LoopResult::stacked, edit.stack(node));
}

/// The loop's result that has the node of its body at all positions; no_node if there is none.
NodeId LoopSet::from_loop(LoopEdit& edit, const BuiltLoop& made, NodeId node) {
  if (std::ranges::find(edit.stacked, node) != edit.stacked.end())
    return result(edit, made, LoopResult::stacked, edit.stack(node));
  for (std::size_t j = 0; j < edit.states.size(); ++j) {
    if (edit.loop.reverse || !edit.states[j].needed || edit.states[j].next != node) continue;
    return arena_.make(Core::subtensor,
                       {result(edit, made, LoopResult::history, made.state[j]), arena_.integer(edit.states[j].rows)},
                       {{"spec", Ints{1, 1, 0, 1}}}, edit.place);
  }
  return no_node;
}

/// Computes a node of the body at all positions: applies each op of the body once, to the loop's inputs and, if `made`
/// is not null, to its results. Not batched: the value is the same at all positions.
NodeId LoopSet::compute_outside(LoopEdit& edit, const BuiltLoop* made, NodeId node, bool& batched) {
  const Arena& body = edit.body.arena;
  batched = true;
  if (const LoopEdit::Sequence* sequence = edit.element(node); sequence != nullptr && !sequence->before_loop)
    return outer_of(edit, *sequence);
  if (made != nullptr) {
    if (const NodeId from_result = from_loop(edit, *made, node); from_result != no_node) return from_result;
  }
  batched = false;
  if (const LoopEdit::Capture* capture = edit.capture(node)) return outer_of(edit, *capture);
  if (const auto value = body.scalar_value(node)) return arena_.scalar(*value);
  std::vector<NodeId> inputs;
  std::vector<bool> along;
  for (const NodeId input : body.inputs(node)) {
    bool input_batched = false;
    inputs.push_back(compute_outside(edit, made, input, input_batched));
    along.push_back(input_batched);
    batched = batched || input_batched;
  }
  const expr::Op& op = body.op(node);
  expr::Attrs attrs = body.attrs(node);
  arena_.set_origin(arena_.add_origin(body.origin(node)));
  if (!batched) return arena_.make(op, inputs, attrs, edit.place);
  if (op.kind == Kind::Contract) {  // of matrices; the right one is the same at all positions
    const std::vector<NodeId> shape = arena_.type(inputs[0]).shape;
    const NodeId product =
        arena_.make(op, std::vector{flatten_rows(inputs[0], edit.place), inputs[1]}, attrs, edit.place);
    const NodeId columns = arena_.representative(arena_.type(product).shape[1]);
    return arena_.make(Core::reshape,
                       {product, arena_.representative(shape[0]), arena_.representative(shape[1]), columns}, {},
                       edit.place);
  }
  if (op.is(Core::dimshuffle)) {
    Ints pattern{0};
    for (const std::int64_t axis : attrs.ints("pattern")) pattern.push_back(axis < 0 ? axis : axis + 1);
    attrs.set("pattern", pattern);
  } else if (op.kind == Kind::Reduce) {
    Ints axes = attrs.ints("axes");
    for (std::int64_t& axis : axes) ++axis;
    attrs.set("axes", axes);
  } else {  // maps align operands at their last axes
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t rank = body.type(body.input(node, i)).rank(), all = body.type(node).rank();
      if (!along[i] || rank == all) continue;
      Ints pattern{0};
      pattern.resize(1 + all - rank, -1);
      for (const std::int64_t axis : expr::all_axes(rank)) pattern.push_back(axis + 1);
      inputs[i] = arena_.make(Core::dimshuffle, {inputs[i]}, {{"pattern", pattern}}, edit.place);
    }
  }
  return arena_.make(op, inputs, attrs, edit.place);
}

/// Reshapes (t, r, c) to (t r, c).
NodeId LoopSet::flatten_rows(NodeId x, expr::Place place) {
  const std::vector<NodeId> shape = arena_.type(x).shape;
  const NodeId rows =
      arena_.size_arithmetic(Core::mul, arena_.representative(shape[0]), arena_.representative(shape[1]));
  return arena_.make(Core::reshape, {x, rows, arena_.representative(shape[2])}, {}, place);
}

NodeId LoopSet::sum_of(LoopEdit& edit, const BuiltLoop& made, const LoopEdit::Sum& sum) {
  const NodeId right = at_all_positions(edit, made, sum.right);
  NodeId total = no_node;
  if (sum.left == no_node) {
    Ints axes{0};
    for (const std::int64_t axis : sum.axes) axes.push_back(axis + 1);
    total = arena_.make(Core::sum, {right}, {{"axes", axes}}, edit.place);
  } else {
    const NodeId left = flatten_rows(at_all_positions(edit, made, sum.left), edit.place);
    total = arena_.make(Core::dot, {transpose(left, edit.place), flatten_rows(right, edit.place)}, {}, edit.place);
  }
  const NodeId initial = to_[edit.states[sum.state].initial];
  Ints pattern = expr::all_axes(arena_.type(total).rank());
  pattern.insert(pattern.begin(), -1);
  total = arena_.make(Core::dimshuffle, {total}, {{"pattern", pattern}}, edit.place);
  const bool from_zero = arena_.op(initial).is(Core::alloc) && arena_.scalar_value(arena_.input(initial, 0)) &&
                         arena_.scalar_value(arena_.input(initial, 0))->as_double() == 0;
  return from_zero ? total : arena_.make(Core::add, {initial, total}, {}, edit.place);
}

// ---- the new graph ----

/// Whether all inputs of the loop have been made.
bool LoopSet::can_make(std::size_t l) const {
  const LoopEdit& edit = loops_[l];
  const auto is_made = [&](NodeId node) { return to_[node] != no_node; };
  return std::ranges::all_of(edit.inputs, is_made) &&
         std::ranges::all_of(edit.states, is_made, &LoopEdit::State::initial) &&
         std::ranges::all_of(edit.captures, is_made, &LoopEdit::Capture::outer) &&
         std::ranges::all_of(edit.sequences, [&](const LoopEdit::Sequence& sequence) {
           return sequence.before_loop || (sequence.outer != no_node ? is_made(sequence.outer) : tried_[sequence.from]);
         });
}

void LoopSet::build() {
  const std::vector<bool> needed = expr::reachable(graph_);
  to_.assign(count_, no_node);
  built_.assign(loops_.size(), {});
  tried_.assign(loops_.size(), false);
  std::vector<bool> done(count_);
  std::size_t left = count_;
  // A merged loop is made after the inputs of all its parts, so nodes may have to wait for later ones.
  while (left > 0) {
    const std::size_t before = left;
    for (NodeId id = 0; id < count_; ++id) {
      if (done[id]) continue;
      const bool stays = !needed[id] || arena_.op(id).kind == Kind::Leaf;
      const bool waits =
          !stays &&
          (std::ranges::any_of(arena_.inputs(id), [&](NodeId input) { return !done[input]; }) ||
           (loop_of_[id] != none && !tried_[merge_target(loop_of_[id])] && !can_make(merge_target(loop_of_[id]))));
      if (waits) continue;
      to_[id] = stays ? id : new_node(id);
      done[id] = true;
      --left;
    }
    if (left == before) throw InternalError("loops that were merged wait for each other");
  }
  for (NodeId& output : graph_.outputs) output = to_[output];
  for (expr::Update& update : graph_.updates) update.value = to_[update.value];
  arena_.renew_requirements(to_);
}

NodeId LoopSet::new_node(NodeId id) {
  arena_.set_origin(arena_.origin_id(id));
  if (const std::size_t l = loop_of_[id]; l != none) {
    const LoopEdit& own = loops_[l];
    const std::size_t target = merge_target(l);
    LoopEdit& edit = loops_[target];
    if (!tried_[target]) {
      tried_[target] = true;
      built_[target] = make_loop(edit);
    }
    if (built_[target]) {
      const Loop old(arena_.attrs(id), own.inputs.size());
      const bool of_state = old.result == LoopResult::history || old.result == LoopResult::last;
      std::size_t index = old.index + (of_state && target != l ? own.first_state : 0);
      if (old.result == LoopResult::stacked) {  // the node of its body
        const NodeId node = own.body.outputs[own.loop.stacked_output(old.index)];
        index = target != l ? own.moved[node] : node;
      }
      return new_result(edit, *built_[target], old.result, index);
    }
  }
  if (const auto pick = history_rows_.find(id); pick != history_rows_.end() && built_[pick->second.loop]) {
    const auto& [from, state, row] = pick->second;
    const LoopEdit& edit = loops_[from];
    const NodeId rows = result(edit, *built_[from], LoopResult::last, built_[from]->state[state]);
    return arena_.make(Core::subtensor, {rows, arena_.integer(edit.states[state].rows - row)},
                       {{"spec", Ints{0, 1, 0, 1}}}, edit.place);
  }
  std::vector<NodeId> inputs;
  bool moved = false;
  for (const NodeId input : arena_.inputs(id)) {
    inputs.push_back(to_[input]);
    moved = moved || to_[input] != input;
  }
  return moved ? arena_.make(arena_.op(id), inputs, expr::Attrs(arena_.attrs(id)), arena_.node(id).place) : id;
}

/// `index` is the node of the body for a stacked result.
NodeId LoopSet::new_result(LoopEdit& edit, const BuiltLoop& made, LoopResult kind, std::size_t index) {
  switch (kind) {
    case LoopResult::steps:
      return result(edit, made, LoopResult::steps, 0);
    case LoopResult::stacked: {
      const auto node = static_cast<NodeId>(index);
      bool batched = true;
      if (std::ranges::find(edit.after_loop, node) != edit.after_loop.end())
        return compute_outside(edit, &made, node, batched);
      return result(edit, made, LoopResult::stacked, edit.stack(node));
    }
    case LoopResult::last:
      for (const LoopEdit::Sum& sum : edit.sums) {
        if (sum.state == index) return sum_of(edit, made, sum);
      }
      break;
    case LoopResult::history:
      break;
  }
  if (!edit.states[index].needed) return no_node;
  return result(edit, made, kind, made.state[index]);
}

}  // namespace croton::rewrite
