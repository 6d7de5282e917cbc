// Basic indexing: merges subtensors, and moves them to the operands, so that only the needed part is computed.
#include "expr/axes.hpp"
#include "rewrite/rules/functions.hpp"
#include "rewrite/rules/part.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Attrs;
using expr::Ints;
using expr::Kind;
using expr::NodeId;

std::vector<Axis> axes_of(const Arena& arena, NodeId node) {
  const Ints& spec = arena.attrs(node).ints("spec");
  const std::string_view op = arena.op(node).name;
  const bool reads = op == "subtensor", is_gradient = op == "subtensor_grad";
  const std::size_t rank = is_gradient ? arena.type(node).rank() : arena.type(arena.input(node, 0)).rank();
  std::size_t next = reads ? 1 : is_gradient ? 1 + rank : 2;
  std::vector<Axis> axes(rank);
  for (std::size_t i = 0; 4 * i < spec.size(); ++i) {
    axes[i].index = spec[4 * i] == 0;
    if (spec[4 * i + 1] != 0) axes[i].start = arena.input(node, next++);
    if (spec[4 * i + 2] != 0) axes[i].stop = arena.input(node, next++);
    if (!axes[i].index && spec[4 * i + 3] == 0) axes[i].step_input = arena.input(node, next++);
    axes[i].step = spec[4 * i + 3];
    const auto first = axes[i].start ? arena.known(*axes[i].start) : std::nullopt;
    if (!axes[i].index && axes[i].step > 0 && first == 0) axes[i].start.reset();
  }
  return axes;
}

bool cover_all(const Arena& arena, std::span<const Axis> axes, std::span<const NodeId> shape) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Axis axis = axes[i];
    const auto stop = axis.stop ? arena.known(*axis.stop) : std::nullopt, size = arena.known(shape[i]);
    const bool at_end = axis.stop && (arena.same_dim(*axis.stop, shape[i]) || (stop && size && *stop >= *size));
    if (at_end) axis.stop.reset();
    if (!axis.is_whole()) return false;
  }
  return true;
}

std::pair<std::vector<NodeId>, Ints> subtensor_inputs(NodeId x, std::span<const Axis> axes) {
  while (!axes.empty() && axes.back().is_whole()) axes = axes.first(axes.size() - 1);
  Ints spec;
  std::vector<NodeId> inputs{x};
  for (const Axis& axis : axes) {
    const std::int64_t kind = axis.index ? 0 : axis.step_input ? 2 : 1;
    spec.insert(spec.end(), {kind, axis.start ? 1 : 0, axis.stop ? 1 : 0, axis.step});
    if (axis.start) inputs.push_back(*axis.start);
    if (axis.stop) inputs.push_back(*axis.stop);
    if (axis.step_input) inputs.push_back(*axis.step_input);
  }
  return {std::move(inputs), std::move(spec)};
}

NodeId make_subtensor(Rewriter& r, NodeId x, std::span<const Axis> axes) {
  const auto [inputs, spec] = subtensor_inputs(x, axes);
  return spec.empty() ? x : r.make(expr::op("subtensor"), inputs, {{"spec", spec}});
}

namespace {

/// `outer` after `inner` as one index or slice: if one of them is whole, or if their bounds are known and not negative.
std::optional<Axis> merged(Arena& arena, const Axis& inner, const Axis& outer) {
  if (inner.is_whole()) return outer;
  if (outer.is_whole()) return inner;
  if (inner.stop || inner.step != 1 || outer.step < 1) return std::nullopt;
  const auto sum = [&](const std::optional<NodeId>& bound) -> std::optional<NodeId> {
    const auto a = arena.known(*inner.start), b = bound ? arena.known(*bound) : 0;
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (!a || !b || *a < 0 || *b < 0 || *a > most || *b > most) return std::nullopt;
    return arena.integer(*a + *b);
  };
  Axis result = outer;
  result.start = sum(outer.start);
  if (outer.stop) result.stop = sum(outer.stop);
  if (!result.start || (outer.stop && !result.stop)) return std::nullopt;
  return result;
}

}  // namespace

/// x[:] is x.
NodeId whole_subtensor(Rewriter& r, NodeId root) {
  const Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  return cover_all(arena, axes_of(arena, root), arena.type(x).shape) ? x : expr::no_node;
}

/// Indexing an axis that a view has added: x[None][0] is x.
NodeId subtensor_of_added_axis(Rewriter& r, NodeId root) {
  const Arena& arena = r.arena();
  const NodeId view = arena.input(root, 0);
  if (arena.op(view).name != "dimshuffle") return expr::no_node;
  const std::vector<Axis> axes = axes_of(arena, root);
  const Ints& pattern = arena.attrs(view).ints("pattern");
  std::vector<Axis> left;
  Ints left_pattern;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = axes[i].index ? arena.known(*axes[i].start) : std::nullopt;
    if (pattern[i] < 0 && (at == 0 || at == -1)) continue;
    left.push_back(axes[i]);
    left_pattern.push_back(pattern[i]);
  }
  if (left.size() == axes.size()) return expr::no_node;
  const NodeId x = arena.input(view, 0);
  return make_subtensor(r, r.make("dimshuffle", {x}, {{"pattern", left_pattern}}), left);
}

/// x[i][j] is x[i, j], and x[2:][3:] is x[5:].
NodeId subtensor_of_subtensor(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (arena.op(inner).name != "subtensor") return expr::no_node;
  std::vector<Axis> axes = axes_of(arena, inner);
  const std::vector<Axis> outer = axes_of(arena, root);
  std::size_t next = 0;
  for (Axis& axis : axes) {
    if (axis.index) continue;
    const auto both = merged(arena, axis, outer[next++]);
    if (!both) return expr::no_node;
    axis = *both;
  }
  // Unknown sizes may become different, though equal, arithmetic. The sizes are compared before rules see the new node:
  // otherwise each node of a long chain would try to merge with all nodes before it.
  const auto [inputs, spec] = subtensor_inputs(arena.input(inner, 0), axes);
  if (spec.empty()) return inputs[0];
  const NodeId plain = arena.make(expr::op("subtensor"), inputs, {{"spec", spec}}, arena.node(root).place);
  if (!arena.same_shape(arena.type(plain).shape, arena.type(root).shape)) return expr::no_node;
  return r.make(expr::op("subtensor"), inputs, {{"spec", spec}});
}

/// exp(x)[i] is exp(x[i]), if exp(x) has no other reader.
NodeId subtensor_of_map(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId map = arena.input(root, 0);
  if (arena.op(map).kind != Kind::Map || !r.one_use(map)) return expr::no_node;
  std::vector<NodeId> operands(arena.inputs(map).begin(), arena.inputs(map).end());
  for (const NodeId operand : operands) {
    if (arena.type(operand).rank() != 0 && !arena.same_shape(arena.type(operand).shape, arena.type(map).shape))
      return expr::no_node;
  }
  const std::vector<Axis> axes = axes_of(arena, root);
  for (NodeId& operand : operands) {
    if (arena.type(operand).rank() != 0) operand = make_subtensor(r, operand, axes);
  }
  return r.make(arena.op(map), operands, Attrs(arena.attrs(map)));
}

/// sum(x, 1)[i] is sum(x[i], 0), if the sum has no other reader.
NodeId subtensor_of_reduce(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId reduced = arena.input(root, 0);
  if (arena.op(reduced).kind != Kind::Reduce || !r.one_use(reduced)) return expr::no_node;
  const NodeId x = arena.input(reduced, 0);
  const std::vector<Axis> outer = axes_of(arena, root);
  const Ints old = arena.attrs(reduced).ints("axes");
  std::vector<Axis> axes(arena.type(x).rank());
  Ints moved;
  std::size_t next = 0;
  std::int64_t at = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (expr::contains(old, axis))
      moved.push_back(at);
    else
      axes[axis] = outer[next++];
    if (!axes[axis].index) ++at;
  }
  return r.make(arena.op(reduced), std::vector{make_subtensor(r, x, axes)}, {{"axes", moved}});
}

/// dot(a, b)[i, j:] is the product of a row and some columns, if the whole product has no other reader.
NodeId subtensor_of_product(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId product = arena.input(root, 0);
  if (arena.op(product).name != "dot" || !r.one_use(product)) return expr::no_node;
  const std::vector<Axis> axes = axes_of(arena, root);
  NodeId left = make_subtensor(r, arena.input(product, 0), std::vector{axes[0]});
  NodeId right = make_subtensor(r, arena.input(product, 1), std::vector{Axis{}, axes[1]});
  if (axes[0].index) left = r.make("dimshuffle", {left}, {{"pattern", Ints{-1, 0}}});
  if (axes[1].index) right = r.make("dimshuffle", {right}, {{"pattern", Ints{0, -1}}});
  const NodeId part = r.make("dot", {left, right});
  if (!axes[0].index && !axes[1].index) return part;
  Ints pattern;
  if (!axes[0].index) pattern.push_back(0);
  if (!axes[1].index) pattern.push_back(1);
  return r.make("dimshuffle", {part}, {{"pattern", pattern}});
}

}  // namespace croton::rewrite
