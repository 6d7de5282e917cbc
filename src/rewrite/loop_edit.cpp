#include "rewrite/loop_edit.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Core;
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

void LoopEdit::merge_loop(LoopEdit& other, std::size_t own_number) {
  BodyCopy copy(other.body, body);
  const auto add_input = [&](NodeId node) {
    copy.add_input(node);
    return copy[node];
  };
  // An array that both loops read becomes one input.
  const auto merge_inputs = [&](auto& own, const auto& all) {
    for (const auto& each : all) {
      const auto same = std::ranges::find_if(own, [&](const auto& mine) { return mine.outer == each.outer; });
      if (same != own.end())
        copy.bind(each.body_node, same->body_node);
      else
        own.push_back({each.outer, add_input(each.body_node)});
    }
  };
  merge_inputs(sequences, other.sequences);
  other.first_state = states.size();
  for (const State& state : other.states) {
    State& own = states.emplace_back(State{state.initial, state.rows, {}, no_node});
    for (const auto& [offset, node] : state.taps) own.taps.emplace_back(offset, add_input(node));
  }
  merge_inputs(captures, other.captures);
  NodeId missing = no_node;
  copy.copy(other.body.outputs, missing);  // all inputs are bound
  for (std::size_t j = 0; j < other.states.size(); ++j) states[other.first_state + j].next = copy[other.states[j].next];
  for (NodeId node = 0; node < other.body.arena.size(); ++node) other.moved.push_back(copy[node]);
  for (const NodeId node : other.stacked) stack(other.moved[node]);
  for (const auto& [result, node] : other.wanted) {
    const bool of_state = result.first == LoopResult::history || result.first == LoopResult::last;
    if (of_state) wanted.emplace(std::pair(result.first, other.first_state + result.second), node);
  }
  body_size = body.arena.size();
  other.merged_into = own_number;
  changed = true;
}

std::size_t LoopEdit::stack(NodeId node) {
  const std::size_t at = base::to_size(std::ranges::find(stacked, node) - stacked.begin());
  if (at == stacked.size()) stacked.push_back(node);
  return at;
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
    if (element(node) != nullptr || capture(node) != nullptr) continue;  // its operands are not needed
    for (const NodeId input : body.arena.inputs(node)) pending.push_back(input);
  }
  return needed;
}

const LoopEdit::Sequence* LoopEdit::element(NodeId node) const {
  const auto at = std::ranges::find(sequences, node, &Sequence::body_node);
  return at == sequences.end() ? nullptr : &*at;
}
const LoopEdit::Capture* LoopEdit::capture(NodeId node) const {
  const auto at = std::ranges::find(captures, node, &Capture::body_node);
  return at == captures.end() ? nullptr : &*at;
}
bool LoopEdit::is_tap(NodeId node) const {
  return std::ranges::any_of(states, [&](const State& state) {
    return std::ranges::any_of(state.taps, [&](const auto& tap) { return tap.second == node; });
  });
}
bool LoopEdit::is_next(NodeId node) const {
  return std::ranges::any_of(states, [&](const State& state) { return state.needed && state.next == node; });
}

BodyCopy::BodyCopy(const Graph& from, Graph& to)
    : from_(from), to_(to), copies_(from.arena.size(), no_node), sizes_(from.arena.size(), no_node) {}

void BodyCopy::add_input(NodeId node) {
  const Arena& arena = from_.arena;
  Type type{arena.type(node).dtype, {}};
  for (const NodeId dim : arena.type(node).shape) type.shape.push_back(arena.known(dim).value_or(unknown_size));
  std::string name = arena.origin(node).name;
  for (const expr::GraphInput& input : from_.inputs) {
    if (input.node == node) name = input.name;
  }
  to_.arena.set_origin(to_.arena.add_origin(arena.origin(node)));
  bind(node, to_.add_input(std::move(name), type, expr::Role::argument));
}

void BodyCopy::bind(NodeId node, NodeId new_node) {
  const Arena& arena = from_.arena;
  copies_[node] = new_node;
  for (std::size_t axis = 0; axis < arena.type(node).rank(); ++axis) {
    const NodeId old_size = arena.representative(arena.type(node).shape[axis]);
    const NodeId new_size = to_.arena.type(new_node).shape[axis];
    if (arena.known(old_size)) continue;
    NodeId& size = sizes_[old_size];
    size = size == no_node ? new_size : to_.arena.require_equal(size, new_size, "sizes of a step's operands");
  }
}

NodeId BodyCopy::copy_leaf(NodeId node) {
  const Arena& arena = from_.arena;
  if (const auto value = arena.scalar_value(node)) return to_.arena.scalar(*value);
  to_.arena.set_origin(to_.arena.add_origin(arena.origin(node)));
  return to_.add_constant(from_.constants[arena.attrs(node).index("index")]);
}

bool BodyCopy::copy(std::vector<NodeId> nodes, NodeId& missing) {
  const Arena& arena = from_.arena;
  std::vector<bool> needed(arena.size());
  while (!nodes.empty()) {
    const NodeId node = nodes.back();
    nodes.pop_back();
    if (needed[node] || copies_[node] != no_node) continue;
    needed[node] = true;
    nodes.insert(nodes.end(), arena.inputs(node).begin(), arena.inputs(node).end());
  }
  for (NodeId id = 0; id < arena.size(); ++id) {
    if (!needed[id]) continue;
    if (copies_[id] = sizes_[arena.representative(id)]; copies_[id] != no_node) continue;
    if (arena.op(id).is(Core::size, Core::input)) {
      const std::string_view attribute = arena.op(id).is(Core::size) ? "input" : "index";
      missing = from_.inputs[arena.attrs(id).index(attribute)].node;
      return false;
    }
    if (arena.op(id).kind == expr::Kind::Leaf) {
      copies_[id] = copy_leaf(id);
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId input : arena.inputs(id)) operands.push_back(copies_[input]);
    to_.arena.set_origin(to_.arena.add_origin(arena.origin(id)));
    copies_[id] = to_.arena.make(arena.op(id), operands, arena.attrs(id), arena.node(id).place);
  }
  return true;
}

std::optional<Graph> rebuild_body(const Graph& old, const std::vector<NodeId>& inputs,
                                  const std::vector<NodeId>& outputs, NodeId& missing) {
  Graph made;
  BodyCopy copy(old, made);
  for (const NodeId node : inputs) copy.add_input(node);
  if (!copy.copy(outputs, missing)) return std::nullopt;
  for (const NodeId output : outputs) made.outputs.push_back(copy[output]);
  return made;
}

}  // namespace croton::rewrite
