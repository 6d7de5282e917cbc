// Rewrites of reductions: over fewer axes, of an operand instead of its view, and of fewer elements.
#include <algorithm>

#include "expr/axes.hpp"
#include "rewrite/rules/functions.hpp"

namespace croton::rewrite {

using expr::Arena;
using expr::Ints;
using expr::NodeId;

namespace {

/// The dimshuffle of `x` that drops the axes `dropped`, whose sizes are 1.
NodeId without_axes(Rewriter& r, NodeId x, const Ints& dropped) {
  return r.make("dimshuffle", {x}, {{"pattern", expr::other_axes(r.arena().type(x).rank(), dropped)}});
}

/// Whether `operand`, aligned at the end of a node of `rank` dimensions, lacks the axis or is broadcast along it.
bool repeats(const Arena& arena, NodeId operand, std::size_t axis, std::size_t rank) {
  const auto& shape = arena.type(operand).shape;
  return axis + shape.size() < rank || arena.known(shape[axis + shape.size() - rank]) == 1;
}

}  // namespace

/// A reduction over axes of size 1, or over none, only drops them.
NodeId reduce_unit_axes(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  Ints left, dropped;
  for (const std::int64_t axis : arena.attrs(root).ints("axes")) {
    const bool one = arena.known(base::nth(arena.type(x).shape, axis)) == 1;
    (one ? dropped : left).push_back(axis);
  }
  if (!left.empty() && dropped.empty()) return expr::no_node;
  const NodeId squeezed = without_axes(r, x, dropped);
  if (left.empty()) return squeezed;
  Ints moved;
  for (const std::int64_t axis : left)
    moved.push_back(axis - (std::ranges::lower_bound(dropped, axis) - dropped.begin()));
  return r.make(arena.op(root), std::vector{squeezed}, {{"axes", moved}});
}

/// sum(sum(x)) is one sum over the axes of both.
NodeId reduce_of_reduce(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId inner = arena.input(root, 0);
  if (&arena.op(inner) != &arena.op(root) || !r.one_use(inner)) return expr::no_node;
  const NodeId x = arena.input(inner, 0);
  Ints axes = arena.attrs(inner).ints("axes");
  const Ints kept = expr::other_axes(arena.type(x).rank(), axes);
  for (const std::int64_t axis : arena.attrs(root).ints("axes")) axes.push_back(base::nth(kept, axis));
  std::ranges::sort(axes);
  return r.make(arena.op(root), std::vector{x}, {{"axes", axes}});
}

/// sum(x.T, 1) is sum(x, 0): the reduction is of the operand of a dimshuffle, and its result is shuffled.
NodeId reduce_of_dimshuffle(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId view = arena.input(root, 0);
  if (arena.op(view).name != "dimshuffle") return expr::no_node;
  const Ints pattern = arena.attrs(view).ints("pattern"), outer = arena.attrs(root).ints("axes");
  Ints axes;
  for (const std::int64_t axis : outer) {
    if (const std::int64_t from = base::nth(pattern, axis); from >= 0) axes.push_back(from);
  }
  // A position counts along the axes in their order.
  if (arena.op(root).reduce->yields_index && (outer.size() != 1 || axes.empty())) return expr::no_node;
  std::ranges::sort(axes);
  const NodeId reduced = r.make(arena.op(root), std::vector{arena.input(view, 0)}, {{"axes", axes}});
  Ints left;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (expr::contains(outer, i)) continue;
    const std::int64_t from = pattern[i];
    left.push_back(from < 0 ? -1 : from - (std::ranges::lower_bound(axes, from) - axes.begin()));
  }
  return r.make("dimshuffle", {reduced}, {{"pattern", left}});
}

/// argmax(softmax(x)) is argmax(x): an increasing function of x is largest where x is.
NodeId argmax_of_increasing(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId y = arena.input(root, 0);
  const std::string_view name = arena.op(y).name;
  const Ints& axes = arena.attrs(root).ints("axes");
  if (name == "softmax" || name == "log_softmax") {
    if (axes.size() != 1 || axes[0] != arena.attrs(y).integer("axis")) return expr::no_node;
  } else if (name != "sigmoid" && name != "softplus" && name != "tanh" && name != "exp") {
    return expr::no_node;
  }
  const NodeId x = arena.input(y, 0);
  if (!is_float(arena.type(x).dtype) || arena.type(x).dtype != arena.type(y).dtype) return expr::no_node;
  return r.make(arena.op(root), std::vector{x}, expr::Attrs(arena.attrs(root)));
}

/// sum(x c) is c sum(x), and sum(x / c) is sum(x) / c, if c is the same along the axes of the sum: one product instead
/// of many.
NodeId factor_out_of_sum(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId product = arena.input(root, 0);
  const DType dtype = arena.type(root).dtype;
  const bool divides = arena.op(product).name == "true_divide";
  if ((arena.op(product).name != "mul" && !divides) || !r.one_use(product) || is_bool(dtype)) return expr::no_node;
  const Ints axes = arena.attrs(root).ints("axes");
  const std::size_t rank = arena.type(product).rank();
  for (std::size_t i = 0; i < 2; ++i) {
    const NodeId factor = arena.input(product, i), rest = arena.input(product, 1 - i);
    if (arena.type(rest).dtype != dtype || (divides && i == 0)) continue;
    if (arena.type(factor).dtype != dtype && !arena.scalar_value(factor)) continue;
    if (!arena.same_shape(arena.type(rest).shape, arena.type(product).shape)) continue;
    const auto constant_along = [&](std::int64_t axis) { return repeats(arena, factor, base::to_size(axis), rank); };
    if (!std::ranges::all_of(axes, constant_along)) continue;
    const std::int64_t missing = std::ssize(arena.type(product).shape) - std::ssize(arena.type(factor).shape);
    Ints dropped;
    for (const std::int64_t axis : axes) {
      if (axis >= missing) dropped.push_back(axis - missing);
    }
    const NodeId left = dropped.empty() ? factor : without_axes(r, factor, dropped);
    return r.make(arena.op(product).name, {r.make("sum", {rest}, expr::Attrs(arena.attrs(root))), left});
  }
  return expr::no_node;
}

/// The sum of a repeated value is the value times its count, its product the power by the count, and its maximum the
/// value.
NodeId reduce_of_repeated(Rewriter& r, NodeId root) {
  Arena& arena = r.arena();
  const NodeId x = arena.input(root, 0);
  const DType dtype = arena.type(root).dtype;
  const std::string_view name = arena.op(root).name;
  const bool counts = name == "sum" || name == "prod";
  if (arena.op(x).name != "alloc" || (counts && is_bool(dtype)) || arena.op(root).reduce->yields_index)
    return expr::no_node;
  const NodeId value = arena.input(x, 0);
  const Ints axes = arena.attrs(root).ints("axes");
  const std::size_t rank = arena.type(x).rank(), missing = rank - arena.type(value).rank();
  NodeId count = arena.integer(1);
  Ints inner;
  std::vector<NodeId> sizes;
  bool any = false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const NodeId size = arena.type(x).shape[axis];
    if (!expr::contains(axes, axis)) {
      sizes.push_back(size);
      continue;
    }
    if (axis >= missing) inner.push_back(static_cast<std::int64_t>(axis - missing));
    if (!repeats(arena, value, axis, rank)) continue;
    // The maximum of no elements is an error, and `all` of none is true.
    if (!counts && arena.known(size).value_or(0) < 1) return expr::no_node;
    count = arena.size_arithmetic("mul", count, size);
    any = true;
  }
  if (!any) return expr::no_node;
  NodeId result = inner.empty() ? value : r.make(arena.op(root), std::vector{value}, {{"axes", inner}});
  if (counts) result = r.make(name == "sum" ? "mul" : "pow", {result, r.make("cast", {count}, {{"dtype", dtype}})});
  if (arena.same_shape(arena.type(result).shape, sizes)) return result;
  sizes.insert(sizes.begin(), result);
  return r.make(expr::op("alloc"), sizes);
}

}  // namespace croton::rewrite
