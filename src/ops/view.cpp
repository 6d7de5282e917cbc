// Views: other ways to index the same elements. Each says, for an element of its result, which element of its input
// that is; kernels read through these maps, so that a view costs nothing.
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "ops/batch_rules.hpp"
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
    if (axis < 0 || axis >= static_cast<std::int64_t>(x.shape.size())) {
      c.type_error(fmt::format(
          "axis {} in the pattern of a variable with {} dimension(s); its own, and -1 for a new one, are taken", axis,
          x.shape.size()));
    }
    const auto at = static_cast<std::size_t>(axis);
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
    if (pattern[i] != broadcast_axis) at[static_cast<std::size_t>(pattern[i])] = c.index[i];
  }
  return c.read(0, at);
}

Array evaluate_dimshuffle(const EvaluateContext& c) {
  std::vector<int> order;
  for (const std::int64_t axis : c.attrs.ints("pattern")) {
    if (axis != broadcast_axis) order.push_back(static_cast<int>(axis));
  }
  for (int axis = 0; axis < c.inputs[0].rank(); ++axis) {
    if (std::ranges::find(order, axis) == order.end()) order.push_back(axis);
  }
  return c.inputs[0].transpose(order).copy().reshape(c.shape);
}

std::vector<Variable> dimshuffle_gradient(const GradientContext& c) {
  const expr::Ints& pattern = c.node.attrs.ints("pattern");
  std::vector<int> inverse(static_cast<std::size_t>(c.input(0).rank()), broadcast_axis);
  std::vector<int> added;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == broadcast_axis)
      added.push_back(static_cast<int>(i));
    else
      inverse[static_cast<std::size_t>(pattern[i])] = static_cast<int>(i);
  }
  return {dimshuffle(c.gradient, inverse)};
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
      c.shape_error(fmt::format("a size of {}; sizes are at least 0, and one may be -1", *number));
    result.shape.push_back(size);
  }
  // Sizes that both sides share cancel, so that (n, 784) to (n, 28, 28) asks nothing of n.
  std::vector<Dim> before = c.inputs[0].shape, after = result.shape;
  std::erase_if(before, [&](Dim size) {
    if (c.known(size) || size == unknown_size) return false;
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

/// Runs of axes whose sizes multiply to the same on both sides map onto each other; equal sizes map one to one.
NodeId reshape_element(ElementContext& c) {
  const auto& from = c.input_shapes[0];
  const auto is_one = [&](NodeId size) { return c.body.known(size) == 1; };
  std::vector<NodeId> at(from.size(), c.body.integer(0));
  // Equal sizes from the front, then from the back; only what is left between needs division.
  std::size_t i = 0, o = 0;
  while (true) {
    while (i < from.size() && is_one(from[i])) ++i;
    while (o < c.shape.size() && is_one(c.shape[o])) ++o;
    if (i == from.size() || o == c.shape.size() || from[i] != c.shape[o]) break;
    at[i++] = c.index[o++];
  }
  std::size_t i_end = from.size(), o_end = c.shape.size();
  while (true) {
    while (i_end > i && is_one(from[i_end - 1])) --i_end;
    while (o_end > o && is_one(c.shape[o_end - 1])) --o_end;
    if (i_end == i || o_end == o || from[i_end - 1] != c.shape[o_end - 1]) break;
    at[--i_end] = c.index[--o_end];
  }
  NodeId position = linear(c.body, std::span(c.index).subspan(o, o_end - o), std::span(c.shape).subspan(o, o_end - o));
  for (std::size_t axis = i_end; axis-- > i;) {
    if (axis == i) {
      at[axis] = position;
      break;
    }
    at[axis] = c.body.size_arithmetic("mod", position, from[axis]);
    position = c.body.size_arithmetic("floor_divide", position, from[axis]);
  }
  return c.read(0, at);
}

Array evaluate_reshape(const EvaluateContext& c) { return c.inputs[0].contiguous().reshape(c.shape); }

std::vector<Variable> reshape_gradient(const GradientContext& c) {
  std::vector<Operand> shape;
  for (const Variable& size : c.input(0).shape()) shape.emplace_back(size);
  std::vector<Variable> result(c.inputs.size());
  result[0] = reshape(c.gradient, shape);
  return result;
}

// ---- alloc: inputs value, size of each axis ----

InferredType infer_alloc(InferContext& c) {
  InferredType result{c.inputs[0].dtype, {}};
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const Dim size = c.value_of(i);
    if (const auto number = c.known(size); number && *number < 0)
      c.shape_error(fmt::format("a size of {}; sizes are at least 0", *number));
    result.shape.push_back(size);
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

// ---- subtensor: basic indexing ----
// Attribute `spec`,
// four numbers an indexed axis: {kind: 0 index, 1 slice; has start; has stop; step}; the bounds given are inputs 1, 2,
// ... in that order. New axes are dimshuffles that the C++ function adds.

/// Arithmetic on sizes that is the same in type rules and in kernel bodies.
template <class Apply, class Constant>
struct Bounds {
  Apply apply;
  Constant constant;

  /// A bound counted from the end made an index, then clipped to [low, high].
  template <class V>
  V clip(V bound, V size, V low, V high) const {
    const V from_end = apply("mul", size, apply("lt", bound, constant(0)));
    return apply("minimum", apply("maximum", apply("add", bound, from_end), low), high);
  }
  template <class V>
  V index(V position, V size) const {
    return apply("add", position, apply("mul", size, apply("lt", position, constant(0))));
  }
  /// {first, count} of a slice.
  template <class V>
  std::pair<V, V> slice(std::optional<V> start, std::optional<V> stop, std::int64_t step, V size) const {
    const V zero = constant(0), last = apply("sub", size, constant(1));
    if (step > 0) {
      const V first = start ? clip(*start, size, zero, size) : zero;
      const V end = stop ? clip(*stop, size, zero, size) : size;
      const V span = apply("sub", end, first);
      const V count = step == 1 ? span : apply("floor_divide", apply("add", span, constant(step - 1)), constant(step));
      return {first, start || stop ? apply("maximum", count, zero) : count};
    }
    const V first = start ? clip(*start, size, constant(-1), last) : last;
    const V end = stop ? clip(*stop, size, constant(-1), last) : constant(-1);
    const V span = apply("sub", first, end);
    const V count = apply("floor_divide", apply("add", span, constant(-step - 1)), constant(-step));
    return {first, apply("maximum", count, zero)};
  }
};
template <class A, class C>
Bounds(A, C) -> Bounds<A, C>;

/// The attribute, found to be sound: texts may hold anything. `bounds`: how many inputs are bounds.
const expr::Ints& checked_spec(const InferContext& c, std::size_t rank, std::size_t bounds) {
  constexpr std::int64_t max_step = std::int64_t{1} << 40;
  const expr::Ints& spec = c.attrs.ints("spec");
  if (spec.size() % 4 != 0) c.type_error("the spec has four numbers for each axis");
  if (spec.size() > 4 * rank) c.type_error(fmt::format("{} indices for {} dimension(s)", spec.size() / 4, rank));
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < spec.size(); i += 4) {
    const auto is_bit = [](std::int64_t v) { return v == 0 || v == 1; };
    const bool sound = is_bit(spec[i]) && is_bit(spec[i + 1]) && is_bit(spec[i + 2]) &&
                       (spec[i] == 1 || (spec[i + 1] == 1 && spec[i + 2] == 0));
    if (!sound || spec[i + 3] == 0 || spec[i + 3] > max_step || spec[i + 3] < -max_step)
      c.type_error(fmt::format("the spec of axis {} is not sound", i / 4));
    wanted += static_cast<std::size_t>(spec[i + 1] + spec[i + 2]);
  }
  if (wanted != bounds) c.type_error(fmt::format("the spec names {} bounds, but {} are given", wanted, bounds));
  return spec;
}

InferredType infer_subtensor(InferContext& c) {
  const InferredType& x = c.inputs[0];
  const expr::Ints& spec = checked_spec(c, x.shape.size(), c.inputs.size() - 1);
  const Bounds bounds{[&](std::string_view op, Dim a, Dim b) { return c.apply(op, a, b); },
                      [&](std::int64_t v) { return c.constant(v); }};
  InferredType result{x.dtype, {}};
  std::size_t next = 1;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (4 * axis >= spec.size()) {
      result.shape.push_back(x.shape[axis]);
      continue;
    }
    if (spec[4 * axis] == 0) {
      c.require_index(c.value_of(next++), x.shape[axis], fmt::format("axis {}", axis));
      continue;
    }
    std::optional<Dim> start, stop;
    if (spec[4 * axis + 1]) start = c.value_of(next++);
    if (spec[4 * axis + 2]) stop = c.value_of(next++);
    result.shape.push_back(bounds.slice(start, stop, spec[4 * axis + 3], x.shape[axis]).second);
  }
  return result;
}

/// Per axis of the input: {is index, first, step}, as body nodes.
struct AxisMap {
  bool index;
  NodeId first;
  std::int64_t step;
};
std::vector<AxisMap> axis_maps(ElementContext& c, std::span<const NodeId> sizes, std::size_t next) {
  const expr::Ints& spec = c.attrs.ints("spec");
  const Bounds bounds{[&](std::string_view op, NodeId a, NodeId b) { return c.body.size_arithmetic(op, a, b); },
                      [&](std::int64_t v) { return c.body.integer(v); }};
  const auto bound = [&] { return c.read(next++, {}); };
  std::vector<AxisMap> maps;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (4 * axis >= spec.size()) {
      maps.push_back({false, c.body.integer(0), 1});
    } else if (spec[4 * axis] == 0) {
      maps.push_back({true, bounds.index(bound(), sizes[axis]), 1});
    } else {
      std::optional<NodeId> start, stop;
      if (spec[4 * axis + 1]) start = bound();
      if (spec[4 * axis + 2]) stop = bound();
      maps.push_back({false, bounds.slice(start, stop, spec[4 * axis + 3], sizes[axis]).first, spec[4 * axis + 3]});
    }
  }
  return maps;
}

NodeId subtensor_element(ElementContext& c) {
  std::vector<NodeId> at;
  std::size_t next = 0;
  for (const AxisMap& map : axis_maps(c, c.input_shapes[0], 1)) {
    at.push_back(map.index
                     ? map.first
                     : c.body.size_arithmetic(
                           "add", map.first, c.body.size_arithmetic("mul", c.index[next++], c.body.integer(map.step))));
  }
  return c.read(0, at);
}

/// The bounds of one evaluated subtensor as plain numbers.
struct PlainAxis {
  bool index;
  std::int64_t first, count, step;
};
std::vector<PlainAxis> plain_axes(const EvaluateContext& c, const Sizes& sizes, std::size_t next) {
  const expr::Ints& spec = c.attrs.ints("spec");
  const Bounds bounds{expr::apply_integers, [](std::int64_t v) { return v; }};
  const auto bound = [&] { return c.inputs[next++].astype(DType::int64).item<std::int64_t>(); };
  std::vector<PlainAxis> result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (4 * axis >= spec.size()) {
      result.push_back({false, 0, sizes[axis], 1});
    } else if (spec[4 * axis] == 0) {
      result.push_back({true, bounds.index(bound(), sizes[axis]), 1, 1});
    } else {
      std::optional<std::int64_t> start, stop;
      if (spec[4 * axis + 1]) start = bound();
      if (spec[4 * axis + 2]) stop = bound();
      const auto [first, count] = bounds.slice(start, stop, spec[4 * axis + 3], sizes[axis]);
      result.push_back({false, first, count, spec[4 * axis + 3]});
    }
  }
  return result;
}

/// The part of `x` that a subtensor reads (or writes), as a view with index axes of size 1.
Array plain_view(const Array& x, const std::vector<PlainAxis>& axes) {
  Sizes shape, strides;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].count > 0) offset += axes[axis].first * x.strides()[axis];
    shape.push_back(axes[axis].count);
    strides.push_back(x.strides()[axis] * axes[axis].step);
  }
  char* start = const_cast<char*>(static_cast<const char*>(x.raw())) + offset;
  return Array::adopt(x.owner(), start, x.dtype(), shape, strides);
}

Array evaluate_subtensor(const EvaluateContext& c) {
  return plain_view(c.inputs[0], plain_axes(c, c.inputs[0].shape(), 1)).copy().reshape(c.shape);
}

/// subtensor_grad(g, size of each axis of x, bounds...): g at its place among zeros.
std::vector<Variable> subtensor_gradient(const GradientContext& c) {
  std::vector<Variable> inputs{c.gradient};
  for (const Variable& size : c.input(0).shape()) inputs.push_back(size);
  inputs.insert(inputs.end(), c.inputs.begin() + 1, c.inputs.end());
  expr::Attrs attrs = c.node.attrs;
  attrs.set("rank", std::int64_t{c.input(0).rank()});
  std::vector<Variable> result(c.inputs.size());
  result[0] = builder::apply("subtensor_grad", inputs, attrs, c.node.where);
  return result;
}

InferredType infer_subtensor_grad(InferContext& c) {
  InferredType result{c.inputs[0].dtype, {}};
  const std::int64_t rank = c.attrs.integer("rank");
  if (rank < 0 || rank >= static_cast<std::int64_t>(c.inputs.size())) c.type_error("a size for each axis is expected");
  const expr::Ints& spec =
      checked_spec(c, static_cast<std::size_t>(rank), c.inputs.size() - 1 - static_cast<std::size_t>(rank));
  std::size_t left = static_cast<std::size_t>(rank);
  for (std::size_t i = 0; i < spec.size(); i += 4) left -= spec[i] == 0 ? 1 : 0;
  if (c.inputs[0].shape.size() != left) c.type_error("the gradient has the shape of what was read");
  for (std::int64_t axis = 0; axis < rank; ++axis)
    result.shape.push_back(c.value_of(static_cast<std::size_t>(axis) + 1));
  return result;
}

NodeId subtensor_grad_element(ElementContext& c) {
  Arena& body = c.body;
  const auto rank = static_cast<std::size_t>(c.attrs.integer("rank"));
  const std::vector<AxisMap> maps = axis_maps(c, c.shape, 1 + rank);
  NodeId inside = expr::no_node;  // everywhere
  std::vector<NodeId> at;
  const auto both = [&](NodeId condition) {
    inside = inside == expr::no_node ? condition : body.make("and", {inside, condition});
  };
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (maps[axis].index) {
      both(body.make("eq", {c.index[axis], maps[axis].first}));
      continue;
    }
    const NodeId size = c.input_shapes[0][next++];
    NodeId offset = body.size_arithmetic("sub", c.index[axis], maps[axis].first);
    if (maps[axis].step != 1) {
      const NodeId step = body.integer(maps[axis].step);
      both(body.make("eq", {body.size_arithmetic("mod", offset, step), body.integer(0)}));
      offset = body.size_arithmetic("floor_divide", offset, step);
    }
    if (offset != c.index[axis] || size != c.shape[axis]) {
      both(body.make("ge", {offset, body.integer(0)}));
      both(body.make("lt", {offset, size}));
    }
    at.push_back(offset);
  }
  return inside == expr::no_node ? c.read(0, at) : c.read_if(inside, 0, at);
}

Array evaluate_subtensor_grad(const EvaluateContext& c) {
  Array result = Array::zeros(c.dtype, c.shape);
  Array place = plain_view(result, plain_axes(c, c.shape, 1 + c.shape.size()));
  place.copy_from(c.inputs[0].contiguous().reshape(place.shape()));
  return result;
}

std::vector<Variable> subtensor_grad_gradient(const GradientContext& c) {
  const auto rank = c.node.attrs.integer("rank");
  std::vector<Variable> inputs{c.gradient};
  inputs.insert(inputs.end(), c.inputs.begin() + 1 + rank, c.inputs.end());
  std::vector<Variable> result(c.inputs.size());
  result[0] = builder::apply("subtensor", inputs, {{"spec", c.node.attrs.ints("spec")}}, c.node.where);
  return result;
}

// ---- shape_of: one size, as a value ----

InferredType infer_shape_of(InferContext& c) {
  const std::int64_t axis = c.attrs.integer("axis");
  if (axis < 0 || axis >= static_cast<std::int64_t>(c.inputs[0].shape.size())) c.type_error("no such axis");
  return {DType::int64, {}};
}
NodeId expand_shape_of(Arena& arena, NodeId node) {
  const auto axis = static_cast<std::size_t>(arena.attrs(node).integer("axis"));
  return arena.representative(arena.type(arena.input(node, 0)).shape[axis]);
}
Array evaluate_shape_of(const EvaluateContext& c) {
  return Array(c.inputs[0].shape(static_cast<int>(c.attrs.integer("axis"))));
}

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
       .batch = batch_dimshuffle});
  add({.name = "reshape",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "the same elements in C order under other sizes",
       .infer = infer_reshape,
       .gradient = reshape_gradient,
       .evaluate = evaluate_reshape,
       .element = reshape_element,
       .batch = batch_reshape});
  add({.name = "alloc",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "a value repeated to a shape",
       .infer = infer_alloc,
       .gradient = alloc_gradient,
       .evaluate = evaluate_alloc,
       .element = alloc_element,
       .batch = batch_alloc});
  add({.name = "subtensor",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "basic indexing: positions and slices",
       .infer = infer_subtensor,
       .gradient = subtensor_gradient,
       .evaluate = evaluate_subtensor,
       .element = subtensor_element,
       .batch = batch_subtensor});
  add({.name = "subtensor_grad",
       .kind = expr::Kind::Join,
       .arity = -1,
       .doc = "the gradient of subtensor: its values among zeros",
       .infer = infer_subtensor_grad,
       .gradient = subtensor_grad_gradient,
       .evaluate = evaluate_subtensor_grad,
       .element = subtensor_grad_element,
       .batch = batch_subtensor_grad});
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
    pattern.resize(static_cast<std::size_t>(x.variable.rank()));
    std::iota(pattern.rbegin(), pattern.rend(), 0);
  }
  if (static_cast<int>(pattern.size()) != x.variable.rank()) {
    throw TypeError(fmt::format("transpose ({}): {}: {} axes are named, where each of its {} is to be",
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
  const std::int64_t size = type().shape[static_cast<std::size_t>(at)];
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

/// Where all numbers are known, the open size must be whole; later the message would not show what the user wrote.
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
      throw ShapeError(fmt::format("reshape ({}): {}: two sizes of -1; one may be", builder::describe(x.where),
                                   builder::describe(x.variable)));
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
    throw ValueError(fmt::format("flatten ({}): {}: {} dimensions, where 1 to {} can be had",
                                 builder::describe(x.where), builder::describe(x.variable), ndim,
                                 std::max(1, x.variable.rank())));
  }
  std::vector<Operand> shape;
  for (int axis = 0; axis + 1 < ndim; ++axis) shape.emplace_back(x.variable.shape(axis, x.where), x.where);
  shape.emplace_back(-1, x.where);
  return reshape(x, shape);
}

Variable expand_dims(Operand x, int axis) {
  const int rank = x.variable.rank() + 1;
  const auto at = static_cast<std::ptrdiff_t>(ops::normal_axes({axis}, rank, "expand_dims", x)[0]);
  std::vector<int> pattern(static_cast<std::size_t>(rank - 1));
  std::iota(pattern.begin(), pattern.end(), 0);
  pattern.insert(pattern.begin() + at, broadcast_axis);
  return dimshuffle(x, pattern);
}

Variable squeeze(Operand x, int axis) {
  const auto at = static_cast<std::ptrdiff_t>(ops::normal_axes({axis}, x.variable.rank(), "squeeze", x)[0]);
  if (!x.variable.type().broadcasts(static_cast<std::size_t>(at))) {
    throw TypeError(fmt::format("squeeze ({}): {}: axis {} is not of the stated size 1", builder::describe(x.where),
                                builder::describe(x.variable), at));
  }
  std::vector<int> pattern(static_cast<std::size_t>(x.variable.rank()));
  std::iota(pattern.begin(), pattern.end(), 0);
  pattern.erase(pattern.begin() + at);
  return dimshuffle(x, pattern);
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
static Variable full_like(const Operand& x, double value) {
  std::vector<Operand> shape;
  for (const Variable& size : x.variable.shape(x.where)) shape.emplace_back(size, x.where);
  return alloc(Operand(builder::scalar_constant(value, x.variable.dtype(), x.where), x.where), shape);
}
Variable zeros_like(Operand x) { return full_like(x, 0); }
Variable ones_like(Operand x) { return full_like(x, 1); }

// ---- indexing ----

SliceSpec::SliceSpec(int index, Where w) : kind(Kind::index), start(Operand(index, w)), where(w) {}
SliceSpec::SliceSpec(const Variable& index, Where w) : kind(Kind::index), start(Operand(index, w)), where(w) {}
const SliceSpec new_axis{SliceSpec::Kind::new_axis};
const SliceSpec ellipsis{SliceSpec::Kind::ellipsis};

SliceSpec slice(std::optional<Operand> start, std::optional<Operand> stop, std::optional<Operand> step, Where where) {
  // A number becomes an Operand inside std::optional, and notes a line of that.
  for (std::optional<Operand>* bound : {&start, &stop, &step}) {
    if (*bound && (*bound)->variable.defined() && (*bound)->variable.is_constant() &&
        (*bound)->variable.where() == (*bound)->where) {
      (*bound)->variable.node()->where = where;
    }
  }
  SliceSpec spec(SliceSpec::Kind::slice, where);
  spec.start = std::move(start);
  spec.stop = std::move(stop);
  spec.step = std::move(step);
  return spec;
}

Variable Variable::operator[](SliceSpec spec) const {
  const Where w = spec.where;
  return at({std::move(spec)}, w);
}

Variable Variable::at(std::vector<SliceSpec> specs, Where where) const {
  using Kind = SliceSpec::Kind;
  const auto fail = [&](const std::string& message) {
    throw TypeError(fmt::format("indexing ({}): {}: {}", builder::describe(where), builder::describe(*this), message));
  };
  const auto uses_axis = [](const SliceSpec& s) { return s.kind == Kind::index || s.kind == Kind::slice; };
  const auto used = std::ranges::count_if(specs, uses_axis);
  if (used > rank()) fail(fmt::format("{} indices for {} dimension(s)", used, rank()));
  const auto dots = std::ranges::find(specs, Kind::ellipsis, &SliceSpec::kind);
  if (dots != specs.end()) {
    const auto at = dots - specs.begin();
    specs.erase(dots);
    specs.insert(specs.begin() + at, static_cast<std::size_t>(rank() - used), slice({}, {}, {}, where));
  }
  if (std::ranges::find(specs, Kind::ellipsis, &SliceSpec::kind) != specs.end()) fail("two ellipses; one may be");

  expr::Ints spec;
  std::vector<Variable> inputs{*this};
  std::vector<int> pattern;
  int next = 0;
  const auto add_bound = [&](const std::optional<Operand>& bound) -> std::int64_t {
    if (!bound) return 0;
    if (!is_integer(bound->variable.dtype()) || bound->variable.rank() != 0) {
      fail(fmt::format("an index must be an integer scalar, but {}", builder::describe(bound->variable)));
    }
    inputs.push_back(bound->variable);
    return 1;
  };
  bool indexes = false, shuffles = false;
  for (const SliceSpec& s : specs) {
    if (s.kind == Kind::new_axis) {
      pattern.push_back(broadcast_axis);
      shuffles = true;
    } else if (s.kind == Kind::index) {
      add_bound(s.start);
      spec.insert(spec.end(), {0, 1, 0, 1});
      indexes = true;
    } else {
      std::int64_t step = 1;
      if (s.step) {
        const Variable& given = s.step->variable;
        if (!is_integer(given.dtype()) || given.rank() != 0)
          fail(fmt::format("a step must be a whole number, but {}", builder::describe(given)));
        if (!given.is_constant()) {
          throw NotImplementedError(
              fmt::format("indexing ({}): {}: a symbolic step, {}, is not implemented; use a number",
                          builder::describe(where), builder::describe(*this), builder::describe(given)));
        }
        step = given.node()->value.astype(DType::int64).item<std::int64_t>();
        if (step == 0)
          throw ValueError(fmt::format("indexing ({}): {}: a step of 0; any other whole number is taken",
                                       builder::describe(where), builder::describe(*this)));
      }
      const std::int64_t has_start = add_bound(s.start);
      const std::int64_t has_stop = add_bound(s.stop);
      spec.insert(spec.end(), {1, has_start, has_stop, step});
      indexes = indexes || has_start || has_stop || step != 1;
      pattern.push_back(next++);
    }
  }
  Variable result = indexes ? apply("subtensor", inputs, {{"spec", spec}}, where) : *this;
  if (!shuffles) return result;
  while (next < result.rank()) pattern.push_back(next++);
  return dimshuffle(Operand(result, where), pattern);
}

}  // namespace croton
