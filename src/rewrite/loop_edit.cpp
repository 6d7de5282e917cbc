#include "rewrite/loop_edit.hpp"

#include <algorithm>

namespace croton::rewrite {

using expr::Arena;
using expr::Graph;
using expr::Loop;
using expr::LoopResult;
using expr::no_node;

LoopEdit::LoopEdit(const Arena& arena, NodeId result)
    : loop(arena.attrs(result), arena.inputs(result).size()),
      inputs(arena.inputs(result).begin(), arena.inputs(result).end()),
      origin(arena.origin_id(result)),
      place(arena.node(result).place),
      body(loop.body->graph()),
      body_size(body.arena.size()) {
  const auto own = [&](std::size_t b) { return body.inputs[b].node; };
  for (std::size_t i = 0; i < loop.sequences; ++i) sequences.push_back({inputs[loop.sequence_input(i)], own(i)});
  for (std::size_t j = 0; j < loop.states(); ++j)
    states.push_back({inputs[loop.initial_input(j)], loop.rows[j], {}, body.outputs[Loop::next_row(j)]});
  for (std::size_t t = 0; t < loop.taps.size(); ++t)
    states[loop.taps[t].state].taps.emplace_back(loop.taps[t].offset, own(loop.tap_of(t)));
  for (std::size_t k = 0; k < loop.captures; ++k)
    captures.push_back({inputs[loop.capture_input(k)], own(loop.captured(k))});
}

std::size_t LoopEdit::stack(NodeId node) {
  const auto at = std::ranges::find(stacked, node);
  if (at == stacked.end()) stacked.push_back(node);
  return static_cast<std::size_t>(std::ranges::find(stacked, node) - stacked.begin());
}

std::vector<bool> LoopEdit::find_needed() {
  std::vector<bool> needed(body.arena.size());
  std::vector<NodeId> pending = stacked;
  const auto need_state = [&](std::size_t j) {
    if (states[j].needed) return;
    states[j].needed = true;
    pending.push_back(states[j].next);
  };
  for (State& state : states) state.needed = false;
  for (const auto& [result, node] : wanted) {
    const bool summed = std::ranges::any_of(sums, [&](const Sum& sum) { return sum.state == result.second; });
    const bool of_state = result.first == LoopResult::history || result.first == LoopResult::last;
    if (of_state && !(summed && result.first == LoopResult::last)) need_state(result.second);
  }
  for (const Sum& sum : sums) {
    if (sum.left != no_node && element(sum.left) == nullptr) pending.push_back(sum.left);
    if (element(sum.right) == nullptr) pending.push_back(sum.right);
  }
  if (loop.until) pending.push_back(body.outputs[loop.condition()]);
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (needed[node]) continue;
    needed[node] = true;
    for (std::size_t j = 0; j < states.size(); ++j) {
      if (std::ranges::find(states[j].taps, node, &std::pair<std::int64_t, NodeId>::second) != states[j].taps.end())
        need_state(j);
    }
    const bool given =
        element(node) != nullptr || std::ranges::find(captures, node, &Capture::stands_for) != captures.end();
    if (given) continue;  // whatever it was computed from
    for (const NodeId input : body.arena.inputs(node)) pending.push_back(input);
  }
  return needed;
}

const LoopEdit::Sequence* LoopEdit::element(NodeId node) const {
  const auto at = std::ranges::find(sequences, node, &Sequence::stands_for);
  return at == sequences.end() ? nullptr : &*at;
}
bool LoopEdit::is_tap(NodeId node) const {
  return std::ranges::any_of(states, [&](const State& state) {
    return std::ranges::any_of(state.taps, [&](const auto& tap) { return tap.second == node; });
  });
}
bool LoopEdit::is_next(NodeId node) const {
  return std::ranges::any_of(states, [&](const State& state) { return state.needed && state.next == node; });
}

std::optional<Graph> rebuild_body(const Graph& old, const std::vector<NodeId>& inputs,
                                  const std::vector<NodeId>& outputs, NodeId& missing) {
  const Arena& from = old.arena;
  Graph made;
  made.constants = old.constants;
  std::vector<NodeId> to(from.size(), no_node), sizes(from.size(), no_node);
  for (const NodeId node : inputs) {
    Type type{from.type(node).dtype, {}};
    for (const NodeId dim : from.type(node).shape) type.shape.push_back(from.known(dim).value_or(unknown_size));
    std::string name = from.origin(node).name;
    for (const expr::GraphInput& input : old.inputs) {
      if (input.node == node) name = input.name;
    }
    made.arena.set_origin(made.arena.add_origin(from.origin(node)));
    to[node] = made.add_input(std::move(name), type, expr::Role::argument);
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      const NodeId was = from.representative(from.type(node).shape[axis]);
      const NodeId is = made.arena.type(to[node]).shape[axis];
      if (from.known(was)) continue;
      sizes[was] = sizes[was] == no_node ? is : made.arena.require_equal(sizes[was], is, "sizes of a step's operands");
    }
  }
  std::vector<bool> needed(from.size());
  std::vector<NodeId> pending = outputs;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (needed[node] || to[node] != no_node) continue;
    needed[node] = true;
    for (const NodeId input : from.inputs(node)) pending.push_back(input);
  }
  for (NodeId id = 0; id < from.size(); ++id) {
    if (!needed[id]) continue;
    if (to[id] = sizes[from.representative(id)]; to[id] != no_node) continue;
    if (from.op(id).name == "size" || from.op(id).name == "input") {
      const std::string_view attribute = from.op(id).name == "size" ? "input" : "index";
      missing = old.inputs[static_cast<std::size_t>(from.attrs(id).integer(attribute))].node;
      return std::nullopt;
    }
    if (const auto value = from.scalar_value(id)) {
      to[id] = made.arena.scalar(*value);
      continue;
    }
    made.arena.set_origin(made.arena.add_origin(from.origin(id)));
    if (from.op(id).kind == expr::Kind::Leaf) {
      expr::TensorType type{from.type(id).dtype, {}};  // of a constant
      for (const NodeId dim : from.type(id).shape) type.shape.push_back(made.arena.integer(from.known(dim).value()));
      to[id] =
          made.arena.make_typed(from.op(id), {}, from.attrs(id), made.arena.intern_type(type), from.node(id).place);
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId input : from.inputs(id)) operands.push_back(to[input]);
    to[id] = made.arena.make(from.op(id), operands, from.attrs(id), from.node(id).place);
  }
  for (const NodeId output : outputs) made.outputs.push_back(to[output]);
  return made;
}

}  // namespace croton::rewrite
