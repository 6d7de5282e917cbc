// Views: other ways to index the same elements. Each maps an element of its result to an element of its input; kernels
// read through these maps, so that a view costs nothing.
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/axes.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::Arena;
using expr::Dim;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

// ---- dimshuffle ----

InferredType infer_dimshuffle(InferContext& c) {
  const InferredType& x = c.inputs[0];
  InferredType result{x.dtype, {}};
  std::vector<bool> used(x.shape.size(), false);
  for (const std::int64_t axis : c.attrs.ints("pattern")) {
    if (axis == broadcast_axis) {
      result.shape.push_back(c.constant(1));
      continue;
    }
    if (!base::is_index(axis, x.shape.size())) {
      c.type_error(fmt::format(
          "axis {} in the pattern of a variable with {} dimension(s); its own, and -1 for a new one, are accepted",
          axis, x.shape.size()));
    }
    const std::size_t at = base::to_size(axis);
    if (used[at]) c.type_error(fmt::format("axis {} twice in the pattern", axis));
    used[at] = true;
    result.shape.push_back(x.shape[at]);
  }
  for (std::size_t axis = 0; axis < used.size(); ++axis) {
    if (!used[axis] && c.known(x.shape[axis]) != 1) {
      c.type_error(fmt::format("axis {} is left out, which needs a stated size of 1", axis));
    }
  }
  return result;
}

NodeId dimshuffle_element(ElementContext& c) {
  std::vector<NodeId> at(c.input_shapes[0].size(), c.body.integer(0));
  const expr::Ints& pattern = c.attrs.ints("pattern");
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != broadcast_axis) base::nth(at, pattern[i]) = c.index[i];
  }
  return c.read(0, at);
}

Array evaluate_dimshuffle(const EvaluateContext& c) {
  const expr::Ints& pattern = c.attrs.ints("pattern");
  std::vector<int> order(pattern.begin(), pattern.end());
  std::erase(order, broadcast_axis);
  for (int axis = 0; axis < c.inputs[0].rank(); ++axis) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  return c.inputs[0].transpose(order).copy().reshape(c.shape);
}

std::vector<Variable> dimshuffle_gradient(const GradientContext& c) {
  const expr::Ints back = expr::inverse_pattern(c.node.attrs.ints("pattern"), c.input(0).type().rank());
  return {dimshuffle(c.gradient, {back.begin(), back.end()})};
}

// ---- reshape: inputs x, size of each axis ----

Dim product(InferContext& c, std::span<const Dim> sizes) {
  Dim total = c.constant(1);
  for (const Dim size : sizes) total = c.apply("mul", total, size);
  return total;
}

InferredType infer_reshape(InferContext& c) {
  InferredType result{c.inputs[0].dtype, {}};
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const Dim size = c.value_of(i);
    if (const auto number = c.known(size); number && *number < 0)
      c.shape_error(fmt::format("a size of {}; sizes are at least 0, and at most one is -1", *number));
    result.shape.push_back(size);
  }
  // Sizes that both sides share cancel, so that (n, 784) to (n, 28, 28) requires nothing of n.
  std::vector<Dim> before = c.inputs[0].shape, after = result.shape;
  std::erase_if(before, [&](Dim size) {
    if (c.known(size) || size == expr::unknown_dim) return false;
    const auto same = std::ranges::find(after, size);
    if (same == after.end()) return false;
    after.erase(same);
    return true;
  });
  c.require_equal(product(c, before), product(c, after), "a reshape must keep the number of elements");
  return result;
}

/// The C-order position of an index.
NodeId linear(Arena& body, std::span<const NodeId> index, std::span<const NodeId> shape) {
  NodeId at = body.integer(0);
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    at = body.size_arithmetic("add", body.size_arithmetic("mul", at, shape[axis]), index[axis]);
  }
  return at;
}

/// An axis of input 0 and one of the result, up to which a reshape has found its way.
struct ReshapeRun {
  std::size_t input = 0, result = 0;
};

/// The end of the shortest run of axes from `begin` on whose sizes multiply to the same on both sides: of one axis of
/// the result, or of one of the input; `end` if there is none.
ReshapeRun end_of_run(const ElementContext& c, ReshapeRun begin, ReshapeRun end) {
  std::vector<std::size_t> axes{begin.result}, input_axes{begin.input};
  for (std::size_t i = begin.input; i < end.input; ++i) {
    if (i > begin.input) input_axes.push_back(i);
    if (c.same_product(axes, input_axes)) return {i + 1, begin.result + 1};
  }
  input_axes.resize(1);
  for (std::size_t o = begin.result + 1; o < end.result; ++o) {
    axes.push_back(o);
    if (c.same_product(axes, input_axes)) return {begin.input + 1, o + 1};
  }
  return end;
}

/// Runs of axes whose sizes multiply to the same on both sides map onto each other; equal sizes map one to one.
NodeId reshape_element(ElementContext& c) {
  const auto& from = c.input_shapes[0];
  const auto is_one = [&](NodeId size) { return c.body.known(size) == 1; };
  std::vector<NodeId> at(from.size(), c.body.integer(0));
  // Equal sizes from the front, then from the back; only the axes between them need division.
  ReshapeRun begin, end{from.size(), c.shape.size()};
  while (true) {
    while (begin.input < end.input && is_one(from[begin.input])) ++begin.input;
    while (begin.result < end.result && is_one(c.shape[begin.result])) ++begin.result;
    if (begin.input == end.input || begin.result == end.result || from[begin.input] != c.shape[begin.result]) break;
    at[begin.input++] = c.index[begin.result++];
  }
  while (true) {
    while (end.input > begin.input && is_one(from[end.input - 1])) --end.input;
    while (end.result > begin.result && is_one(c.shape[end.result - 1])) --end.result;
    if (end.input == begin.input || end.result == begin.result || from[end.input - 1] != c.shape[end.result - 1]) break;
    at[--end.input] = c.index[--end.result];
  }
  while (begin.input < end.input) {
    const ReshapeRun run = begin.result < end.result ? end_of_run(c, begin, end) : end;
    const std::size_t axes = run.result - begin.result;
    NodeId position =
        linear(c.body, std::span(c.index).subspan(begin.result, axes), std::span(c.shape).subspan(begin.result, axes));
    for (std::size_t axis = run.input; axis-- > begin.input + 1;) {
      at[axis] = c.body.size_arithmetic("mod", position, from[axis]);
      position = c.body.size_arithmetic("floor_divide", position, from[axis]);
    }
    at[begin.input] = position;
    begin = run;
  }
  return c.read(0, at);
}

Array evaluate_reshape(const EvaluateContext& c) { return c.inputs[0].contiguous().reshape(c.shape); }

std::vector<Variable> reshape_gradient(const GradientContext& c) {
  std::vector<Variable> result(c.inputs.size());
  result[0] = reshape(c.gradient, builder::shape_of(c.input(0)));
  return result;
}

// ---- alloc: inputs value, size of each axis ----

InferredType infer_alloc(InferContext& c) {
  InferredType result{c.inputs[0].dtype, {}};
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    result.shape.push_back(c.value_of(i));
  }
  const auto& value = c.inputs[0].shape;
  if (value.size() > result.shape.size()) c.shape_error("the value has more dimensions than the shape");
  const std::size_t missing = result.shape.size() - value.size();
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    if (c.known(value[axis]) == 1) continue;
    result.shape[missing + axis] = c.require_equal(
        result.shape[missing + axis], value[axis],
        fmt::format("sizes along axis {} must be equal (only a stated size of 1 repeats)", missing + axis));
  }
  return result;
}

NodeId alloc_element(ElementContext& c) {
  const auto& value = c.input_shapes[0];
  const std::size_t missing = c.index.size() - value.size();
  std::vector<NodeId> at;
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    at.push_back(c.body.known(value[axis]) == 1 ? c.body.integer(0) : c.index[missing + axis]);
  }
  return c.read(0, at);
}

Array evaluate_alloc(const EvaluateContext& c) {
  const Array& value = c.inputs[0];
  Sizes strides(c.shape.size(), 0);
  const std::size_t missing = c.shape.size() - value.shape().size();
  for (std::size_t axis = 0; axis < value.shape().size(); ++axis) {
    if (value.shape()[axis] != 1) strides[missing + axis] = value.strides()[axis];
  }
  return Array::copy_of(value.raw(), value.dtype(), c.shape, strides);
}

std::vector<Variable> alloc_gradient(const GradientContext& c) {
  std::vector<Variable> result(c.inputs.size());
  result[0] = c.gradient;  // summed over the repeated axes by grad, as for elementwise ops
  return result;
}

// ---- specify_shape: inputs x, the stated sizes; attribute axes: their axes ----

InferredType infer_specify_shape(InferContext& c) {
  InferredType result = c.inputs[0];
  const expr::Ints& axes = c.attrs.ints("axes");
  if (axes.size() + 1 != c.inputs.size()) c.type_error("a size for each of the axes is expected");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!base::is_index(axes[i], result.shape.size())) c.type_error("no such axis");
    const std::size_t axis = base::to_size(axes[i]);
    result.shape[axis] =
        c.require_equal(c.value_of(i + 1), result.shape[axis], fmt::format("axis {}: {}", axis, c.attrs.text("why")));
  }
  return result;
}

std::vector<Variable> specify_shape_gradient(const GradientContext& c) {
  std::vector<Variable> result(c.inputs.size());
  result[0] = c.gradient;
  return result;
}

// ---- shape_of: one size, as a value ----

InferredType infer_shape_of(InferContext& c) {
  if (!base::is_index(c.attrs.integer("axis"), c.inputs[0].shape.size())) c.type_error("no such axis");
  return {DType::int64, {}};
}
NodeId expand_shape_of(Arena& arena, NodeId node) {
  const std::size_t axis = arena.attrs(node).index("axis");
  return arena.representative(arena.type(arena.input(node, 0)).shape[axis]);
}
Array evaluate_shape_of(const EvaluateContext& c) { return Array(c.inputs[0].shape(c.attrs.axis())); }

}  // namespace

void register_view(Registry& registry) {
  static std::vector<expr::Op> ops;
  ops.reserve(6);
  const auto add = [&](expr::Op op) {
    ops.push_back(op);
    registry.add(ops.back());
  };
  add({.name = "dimshuffle",
       .kind = expr::Kind::View,
       .doc = "axes in another order, axes of size 1 added or dropped",
       .infer = infer_dimshuffle,
       .gradient = dimshuffle_gradient,
       .evaluate = evaluate_dimshuffle,
       .element = dimshuffle_element,
       .values = 1,
       .batch = batch_dimshuffle});
  add({.name = "reshape",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "the same elements in C order under other sizes",
       .infer = infer_reshape,
       .gradient = reshape_gradient,
       .evaluate = evaluate_reshape,
       .element = reshape_element,
       .values = 1,
       .batch = batch_reshape});
  add({.name = "alloc",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "a value repeated to a shape",
       .infer = infer_alloc,
       .gradient = alloc_gradient,
       .evaluate = evaluate_alloc,
       .element = alloc_element,
       .values = 1,
       .batch = batch_alloc});
  add({.name = "specify_shape",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "the same, with sizes that are checked",
       .infer = infer_specify_shape,
       .gradient = specify_shape_gradient,
       .evaluate = [](const EvaluateContext& c) { return c.inputs[0]; },
       .element = [](ElementContext& c) { return c.read(0, c.index); },
       .values = 1,
       .batch = batch_specify_shape});
  add({.name = "shape_of",
       .kind = expr::Kind::Expand,
       .doc = "the size of one axis",
       .infer = infer_shape_of,
       .gradient = [](const GradientContext&) { return std::vector<Variable>(1); },
       .expand = expand_shape_of,
       .evaluate = evaluate_shape_of,
       .expand_at_import = true,
       .batch = batch_shape_of});
}

}  // namespace croton::ops

namespace croton {

using builder::apply;

Variable dimshuffle(Operand x, const std::vector<int>& pattern) {
  expr::Ints axes;
  for (const int axis : pattern) axes.push_back(axis < -1 ? axis + x.variable.rank() : axis);
  return apply("dimshuffle", {x.variable}, {{"pattern", axes}}, x.where);
}

Variable transpose(Operand x, const std::vector<int>& axes) {
  std::vector<int> pattern = axes;
  if (pattern.empty()) {
    pattern = expr::axes_from(0, x.variable.rank());
    std::ranges::reverse(pattern);
  }
  if (pattern.size() != x.variable.type().rank()) {
    throw TypeError(fmt::format("transpose ({}): {}: {} axes are named, but all of its {} must be",
                                builder::describe(x.where), builder::describe(x.variable), pattern.size(),
                                x.variable.rank()));
  }
  return dimshuffle(x, pattern);
}

Variable Variable::T(Where where) const { return transpose(Operand(*this, where)); }

Variable Variable::shape(int axis, Where where) const {
  const int at = axis < 0 ? axis + rank() : axis;
  if (at < 0 || at >= rank()) {
    throw TypeError(fmt::format("shape({}) ({}): {} has no such axis, only {}", axis, builder::describe(where),
                                builder::describe(*this),
                                rank() == 0 ? "the empty shape" : fmt::format("{} to {}", -rank(), rank() - 1)));
  }
  const std::int64_t size = base::nth(type().shape, at);
  if (size != unknown_size) return constant(Array(size), "", where);
  return apply("shape_of", {*this}, {{"axis", std::int64_t{at}}}, where);
}

std::vector<Variable> Variable::shape(Where where) const {
  std::vector<Variable> sizes;
  for (int axis = 0; axis < rank(); ++axis) sizes.push_back(shape(axis, where));
  return sizes;
}

Variable Variable::size(Where where) const {
  Variable total = constant(Array(std::int64_t{1}), "", where);
  for (const Variable& size : shape(where)) total = Operand(total, where) * Operand(size, where);
  return total;
}

/// If all numbers are known, the unknown size must be whole. A later check could not show the user's numbers.
static void demand_divides(const Operand& x, const std::vector<Operand>& shape) {
  std::int64_t elements = 1, others = 1;
  for (const std::int64_t size : x.variable.type().shape) {
    if (size == unknown_size || __builtin_mul_overflow(elements, size, &elements)) return;
  }
  for (const Operand& size : shape) {
    if (!size.variable.is_constant()) return;
    const auto number = size.variable.node()->value.astype(DType::int64).item<std::int64_t>();
    if (number != -1 && __builtin_mul_overflow(others, number, &others)) return;
  }
  if (others <= 0 || elements % others == 0) return;
  throw ShapeError(
      fmt::format("reshape ({}): {}: {} elements do not divide into parts of {}, so that no size fits for -1",
                  builder::describe(x.where), builder::describe(x.variable), elements, others));
}

Variable reshape(Operand x, const std::vector<Operand>& shape) {
  std::vector<Variable> inputs{x.variable};
  std::optional<std::size_t> open;
  Variable rest = x.variable.size(x.where);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Variable& size = shape[i].variable;
    if (!is_discrete(size.dtype()) || size.rank() != 0) {
      throw TypeError(fmt::format("reshape ({}): a size must be an integer scalar, but {}", builder::describe(x.where),
                                  builder::describe(size)));
    }
    const bool minus_one = size.is_constant() && size.node()->value.as_double(0) == -1;
    if (minus_one && open)
      throw ShapeError(fmt::format("reshape ({}): {}: two sizes of -1; at most one is accepted",
                                   builder::describe(x.where), builder::describe(x.variable)));
    if (minus_one)
      open = i;
    else
      rest = floor_divide(Operand(rest, x.where), Operand(size, x.where));
    inputs.push_back(size);
  }
  if (open) {
    demand_divides(x, shape);
    inputs[*open + 1] = rest;
  }
  return apply("reshape", inputs, {}, x.where);
}

Variable flatten(Operand x, int ndim) {
  if (ndim < 1 || (x.variable.rank() > 0 && ndim > x.variable.rank())) {
    throw ValueError(fmt::format("flatten ({}): {}: {} dimensions, where 1 to {} are possible",
                                 builder::describe(x.where), builder::describe(x.variable), ndim,
                                 std::max(1, x.variable.rank())));
  }
  std::vector<Operand> shape;
  for (int axis = 0; axis + 1 < ndim; ++axis) shape.emplace_back(x.variable.shape(axis, x.where), x.where);
  // For an array without elements -1 would be ambiguous.
  Variable last = ndim > 1 ? x.variable.shape(ndim - 1, x.where) : Variable();
  for (int axis = ndim; ndim > 1 && axis < x.variable.rank(); ++axis)
    last = Operand(last, x.where) * Operand(x.variable.shape(axis, x.where), x.where);
  shape.push_back(ndim > 1 ? Operand(last, x.where) : Operand(-1, x.where));
  return reshape(x, shape);
}

Variable alloc(Operand value, const std::vector<Operand>& shape) {
  std::vector<Variable> inputs{value.variable};
  for (const Operand& size : shape) {
    if (!is_discrete(size.variable.dtype()) || size.variable.rank() != 0) {
      throw TypeError(fmt::format("alloc ({}): a size must be an integer scalar, but {}",
                                  builder::describe(value.where), builder::describe(size.variable)));
    }
    inputs.push_back(size.variable);
  }
  return apply("alloc", inputs, {}, value.where);
}

Variable zeros(const std::vector<Operand>& shape, std::optional<DType> dtype, Where where) {
  return alloc(Operand(builder::scalar_constant(0, dtype.value_or(base::config().float_x()), where), where), shape);
}
Variable ones(const std::vector<Operand>& shape, std::optional<DType> dtype, Where where) {
  return alloc(Operand(builder::scalar_constant(1, dtype.value_or(base::config().float_x()), where), where), shape);
}
}  // namespace croton
