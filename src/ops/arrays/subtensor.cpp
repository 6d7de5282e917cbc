// Basic indexing as ops: subtensor reads positions and slices, subtensor_grad writes its gradient into zeros,
// set_subtensor and inc_subtensor return x with that part replaced or increased.
//
// The attribute `spec` has four numbers for each indexed axis: {kind: 0 index, 1 slice, 2 slice with a step among the
// inputs; has start; has stop; step}; the start, stop and step that exist are inputs, in that order. New axes are
// dimshuffles that the C++ function adds.
#include <croton/indexing.hpp>

#include <fmt/format.h>

#include <array>

#include "base/array_bytes.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/evaluate.hpp"
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

constexpr std::int64_t index_kind = 0, slice_kind = 1, stepped_kind = 2;

/// Arithmetic on bounds, shared by type rules, kernel bodies and references.
template <class Apply, class Constant>
struct Bounds {
  Apply apply;
  Constant constant;

  /// A bound, which may count from the end, as an index clipped to [low, high].
  template <class V>
  V clip(V bound, V size, V low, V high) const {
    return apply("minimum", apply("maximum", index(bound, size), low), high);
  }
  template <class V>
  V index(V position, V size) const {
    return apply("add", position, apply("mul", size, apply("lt", position, constant(0))));
  }
  /// {first, count} of a slice whose step is a number.
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
  /// {first, count} of a slice whose step may have either sign: `down` (1 or 0) shifts both ends by one.
  template <class V>
  std::pair<V, V> stepped_slice(std::optional<V> start, std::optional<V> stop, V step, V size) const {
    const V zero = constant(0), down = apply("mul", apply("lt", step, zero), constant(1));
    const V low = apply("sub", zero, down), high = apply("sub", size, down);
    const V first = start ? clip(*start, size, low, high) : apply("mul", high, down);
    const V end =
        stop ? clip(*stop, size, low, high) : apply("sub", size, apply("mul", down, apply("add", size, constant(1))));
    // ceil((end - first) / step) is -((first - end) // step).
    const V count = apply("sub", zero, apply("floor_divide", apply("sub", first, end), step));
    return {first, apply("maximum", count, zero)};
  }
};
template <class A, class C>
Bounds(A, C) -> Bounds<A, C>;

/// The attribute, checked for validity: a parsed text may have any numbers. `bounds` is the number of inputs that are
/// bounds.
const expr::Ints& checked_spec(const InferContext& c, std::size_t rank, std::size_t bounds) {
  constexpr std::int64_t max_step = std::int64_t{1} << 40;
  const expr::Ints& spec = c.attrs.ints("spec");
  if (spec.size() % 4 != 0) c.type_error("the spec has four numbers for each axis");
  if (spec.size() > 4 * rank) c.type_error(fmt::format("{} indices for {} dimension(s)", spec.size() / 4, rank));
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < spec.size(); i += 4) {
    const auto is_bit = [](std::int64_t v) { return v == 0 || v == 1; };
    const std::int64_t kind = spec[i], step = spec[i + 3];
    const bool step_fits = kind == stepped_kind ? step == 0 : step != 0 && step <= max_step && step >= -max_step;
    const bool sound = kind >= index_kind && kind <= stepped_kind && is_bit(spec[i + 1]) && is_bit(spec[i + 2]) &&
                       (kind != index_kind || (spec[i + 1] == 1 && spec[i + 2] == 0));
    if (!sound || !step_fits) c.type_error(fmt::format("the spec of axis {} is invalid", i / 4));
    wanted += base::to_size(spec[i + 1] + spec[i + 2]) + (kind == stepped_kind ? 1 : 0);
  }
  if (wanted != bounds) c.type_error(fmt::format("the spec names {} bounds, but {} are given", wanted, bounds));
  return spec;
}

/// The part of an indexed axis: `first` is the index, or the start of the slice.
template <class V>
struct AxisMap {
  bool index;
  V first, count, step;
};

/// One entry per axis of the indexed variable. `next_bound` returns the bounds one after another.
template <class V, class B, class Next>
std::vector<AxisMap<V>> axis_maps(const expr::Ints& spec, std::span<const V> sizes, const B& bounds, Next next_bound) {
  std::vector<AxisMap<V>> maps;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const V one = bounds.constant(1);
    if (4 * axis >= spec.size()) {
      maps.push_back({false, bounds.constant(0), sizes[axis], one});
      continue;
    }
    const std::int64_t kind = spec[4 * axis];
    if (kind == index_kind) {
      maps.push_back({true, bounds.index(next_bound(), sizes[axis]), one, one});
      continue;
    }
    std::optional<V> start, stop;
    if (spec[4 * axis + 1]) start = next_bound();
    if (spec[4 * axis + 2]) stop = next_bound();
    const V step = kind == stepped_kind ? next_bound() : bounds.constant(spec[4 * axis + 3]);
    const auto [first, count] = kind == stepped_kind ? bounds.stepped_slice(start, stop, step, sizes[axis])
                                                     : bounds.slice(start, stop, spec[4 * axis + 3], sizes[axis]);
    maps.push_back({false, first, count, step});
  }
  return maps;
}

/// The sizes of the part of an `x` of these sizes that the spec selects; the inputs from `next` on are the bounds.
std::vector<Dim> part_shape(InferContext& c, const std::vector<Dim>& sizes, std::size_t next) {
  const expr::Ints& spec = checked_spec(c, sizes.size(), c.inputs.size() - next);
  const Bounds bounds{[&](std::string_view op, Dim a, Dim b) { return c.apply(op, a, b); },
                      [&](std::int64_t v) { return c.constant(v); }};
  // Indices must be inside, and a step must not be 0: n // n is 1 for all other n.
  std::size_t at = next;
  for (std::size_t axis = 0; 4 * axis < spec.size(); ++axis) {
    if (spec[4 * axis] == index_kind) c.require_index(c.value_of(at), sizes[axis], fmt::format("axis {}", axis));
    at += base::to_size(spec[4 * axis + 1] + spec[4 * axis + 2]);
    if (spec[4 * axis] != stepped_kind) continue;
    const Dim step = c.value_of(at++);
    if (c.known(step) == 0) c.shape_error("a step of 0; any other whole number is accepted");
    c.require_equal(c.apply("floor_divide", step, step), c.constant(1), "the step of a slice must not be 0");
  }
  std::vector<Dim> shape;
  for (const auto& map : axis_maps<Dim>(spec, sizes, bounds, [&] { return c.value_of(next++); })) {
    if (!map.index) shape.push_back(map.count);
  }
  return shape;
}

std::vector<AxisMap<NodeId>> body_maps(ElementContext& c, std::span<const NodeId> sizes, std::size_t next) {
  const Bounds bounds{[&](std::string_view op, NodeId a, NodeId b) { return c.body.size_arithmetic(op, a, b); },
                      [&](std::int64_t v) { return c.body.integer(v); }};
  return axis_maps<NodeId>(c.attrs.ints("spec"), sizes, bounds, [&] { return c.read(next++, {}); });
}

/// The part of `x` that the spec selects, as a view in which indexed axes have size 1.
Array part_of(const EvaluateContext& c, const Array& x, std::size_t next) {
  const auto apply = [](std::string_view op, std::int64_t a, std::int64_t b) {
    return expr::apply_integers(expr::op(op), a, b);
  };
  const Bounds bounds{apply, [](std::int64_t v) { return v; }};
  const auto maps = axis_maps<std::int64_t>(c.attrs.ints("spec"), x.shape(), bounds,
                                            [&] { return c.inputs[next++].astype(DType::int64).item<std::int64_t>(); });
  Sizes shape, strides;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    if (maps[axis].count > 0) offset += maps[axis].first * x.strides()[axis];
    shape.push_back(maps[axis].count);
    strides.push_back(maps[axis].count > 1 ? x.strides()[axis] * maps[axis].step : x.strides()[axis]);
  }
  std::byte* start = const_cast<std::byte*>(base::bytes_of(x)) + offset;
  return Array::adopt(x.owner(), start, x.dtype(), shape, strides);
}

// ---- subtensor: inputs x, bounds ----

InferredType infer_subtensor(InferContext& c) {
  const InferredType x = c.inputs[0];
  return {x.dtype, part_shape(c, x.shape, 1)};
}

NodeId subtensor_element(ElementContext& c) {
  std::vector<NodeId> at;
  std::size_t next = 0;
  for (const auto& map : body_maps(c, c.input_shapes[0], 1)) {
    at.push_back(
        map.index ? map.first
                  : c.body.size_arithmetic("add", map.first, c.body.size_arithmetic("mul", c.index[next++], map.step)));
  }
  return c.read(0, at);
}

Array evaluate_subtensor(const EvaluateContext& c) { return part_of(c, c.inputs[0], 1).copy().reshape(c.shape); }

/// subtensor_grad(g, size of each axis of x, bounds...): zeros with g written to the part.
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

/// The index in the part of an element of x, and the condition that it is inside (no_node: always).
struct PartIndex {
  NodeId inside = expr::no_node;
  std::vector<NodeId> at;
};
PartIndex index_in_part(ElementContext& c, const std::vector<AxisMap<NodeId>>& maps) {
  Arena& body = c.body;
  PartIndex placed;
  const auto both = [&](NodeId condition) {
    placed.inside = placed.inside == expr::no_node ? condition : body.make("and", {placed.inside, condition});
  };
  for (std::size_t axis = 0; axis < maps.size(); ++axis) {
    const AxisMap<NodeId>& map = maps[axis];
    if (map.index) {
      both(body.make("eq", {c.index[axis], map.first}));
      continue;
    }
    NodeId offset = body.size_arithmetic("sub", c.index[axis], map.first);
    if (body.known(map.step) != 1) {
      both(body.make("eq", {body.size_arithmetic("mod", offset, map.step), body.integer(0)}));
      offset = body.size_arithmetic("floor_divide", offset, map.step);
    }
    if (offset != c.index[axis] || map.count != c.shape[axis]) {
      both(body.make("ge", {offset, body.integer(0)}));
      both(body.make("lt", {offset, map.count}));
    }
    placed.at.push_back(offset);
  }
  return placed;
}

// ---- subtensor_grad: inputs g, size of each axis of x, bounds ----

InferredType infer_subtensor_grad(InferContext& c) {
  InferredType result{c.inputs[0].dtype, {}};
  if (!base::is_index(c.attrs.integer("rank"), c.inputs.size())) c.type_error("a size for each axis is expected");
  const std::size_t rank = c.attrs.index("rank");
  const expr::Ints& spec = checked_spec(c, rank, c.inputs.size() - 1 - rank);
  std::size_t left = rank;
  for (std::size_t i = 0; i < spec.size(); i += 4) left -= spec[i] == index_kind ? 1 : 0;
  if (c.inputs[0].shape.size() != left) c.type_error("the gradient has the shape of the part that was read");
  for (std::size_t axis = 0; axis < rank; ++axis) result.shape.push_back(c.value_of(axis + 1));
  return result;
}

NodeId subtensor_grad_element(ElementContext& c) {
  auto maps = body_maps(c, c.shape, 1 + c.attrs.index("rank"));
  std::size_t next = 0;  // the sizes of the part are those of the gradient
  for (auto& map : maps) map.count = map.index ? map.count : c.input_shapes[0][next++];
  const PartIndex placed = index_in_part(c, maps);
  return placed.inside == expr::no_node ? c.read(0, placed.at) : c.read_if(placed.inside, 0, placed.at);
}

Array evaluate_subtensor_grad(const EvaluateContext& c) {
  Array result = Array::zeros(c.dtype, c.shape);
  Array place = part_of(c, result, 1 + c.shape.size());
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

// ---- set_subtensor, inc_subtensor: inputs x, y of the part's shape and x's dtype, bounds ----

InferredType infer_set_subtensor(InferContext& c) {
  const InferredType x = c.inputs[0], y = c.inputs[1];
  if (x.dtype != y.dtype) c.type_error("both must have one dtype");
  const std::vector<Dim> part = part_shape(c, x.shape, 2);
  if (y.shape.size() != part.size())
    c.shape_error(fmt::format("{} dimension(s) are written, {} are given", part.size(), y.shape.size()));
  for (std::size_t axis = 0; axis < part.size(); ++axis) {
    c.require_equal(
        part[axis], y.shape[axis],
        fmt::format("sizes along axis {} of the new value must be equal (only a stated size of 1 repeats)", axis));
  }
  return x;
}

template <bool inc>
NodeId set_subtensor_element(ElementContext& c) {
  auto maps = body_maps(c, c.input_shapes[0], 2);
  std::size_t next = 0;
  for (auto& map : maps) map.count = map.index ? map.count : c.input_shapes[1][next++];
  const PartIndex placed = index_in_part(c, maps);
  const auto given = [&] {  // a number of the host is int64
    const bool always = placed.inside == expr::no_node;
    return c.body.cast(always ? c.read(1, placed.at) : c.read_if(placed.inside, 1, placed.at), c.dtype);
  };
  if (!inc && placed.inside == expr::no_node) return given();
  // x is read only at the element that is written, so that an update may overwrite x.
  const NodeId x = c.read(0, c.index);
  const NodeId changed = inc ? c.body.make("add", {x, given()}) : given();
  return placed.inside == expr::no_node ? changed : c.body.make("where", {placed.inside, changed, x});
}

template <bool inc>
Array evaluate_set_subtensor(const EvaluateContext& c) {
  Array result = c.inputs[0].copy();
  Array place = part_of(c, result, 2);
  const Array y = c.inputs[1].contiguous().reshape(place.shape());
  if (!inc) {
    place.copy_from(y);
    return result;
  }
  const Array old = place.copy();
  const expr::Op& add = expr::op("add");
  std::vector<expr::Scalar> sums;
  for (std::int64_t i = 0; i < old.size(); ++i) {
    const std::array<expr::Scalar, 2> terms{expr::element_of(old, i), expr::element_of(y, i)};
    sums.push_back(expr::apply_map(add, terms, c.dtype));
  }
  place.copy_from(expr::array_of(sums, c.dtype, place.shape()));
  return result;
}

template <bool inc>
std::vector<Variable> set_subtensor_gradient(const GradientContext& c) {
  const expr::Attrs& attrs = c.node.attrs;
  std::vector<Variable> bounds(c.inputs.begin() + 2, c.inputs.end()), result(c.inputs.size());
  std::vector<Variable> inputs{c.gradient};
  inputs.insert(inputs.end(), bounds.begin(), bounds.end());
  result[1] = builder::apply("subtensor", inputs, attrs, c.node.where);
  result[0] = c.gradient;
  if (!inc) {
    inputs.insert(inputs.begin() + 1, zeros_like(result[1]));
    result[0] = builder::apply("set_subtensor", inputs, attrs, c.node.where);
  }
  return result;
}

}  // namespace

void register_subtensor(Registry& registry) {
  static const expr::Op ops[] = {
      {.name = "subtensor",
       .kind = expr::Kind::View,
       .arity = -1,
       .doc = "basic indexing: positions and slices",
       .infer = infer_subtensor,
       .gradient = subtensor_gradient,
       .evaluate = evaluate_subtensor,
       .element = subtensor_element,
       .values = 1,
       .batch = batch_subtensor},
      {.name = "subtensor_grad",
       .kind = expr::Kind::Join,
       .arity = -1,
       .doc = "the gradient of subtensor: its values among zeros",
       .infer = infer_subtensor_grad,
       .gradient = subtensor_grad_gradient,
       .evaluate = evaluate_subtensor_grad,
       .element = subtensor_grad_element,
       .values = 1,
       .batch = batch_subtensor_grad},
      {.name = "set_subtensor",
       .kind = expr::Kind::Join,
       .arity = -1,
       .doc = "x with positions and slices replaced",
       .infer = infer_set_subtensor,
       .gradient = set_subtensor_gradient<false>,
       .evaluate = evaluate_set_subtensor<false>,
       .element = set_subtensor_element<false>,
       .values = 2,
       .batch = batch_set_subtensor},
      {.name = "inc_subtensor",
       .kind = expr::Kind::Join,
       .arity = -1,
       .doc = "x with something added to positions and slices",
       .infer = infer_set_subtensor,
       .gradient = set_subtensor_gradient<true>,
       .evaluate = evaluate_set_subtensor<true>,
       .element = set_subtensor_element<true>,
       .values = 2,
       .batch = batch_set_subtensor},
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops
