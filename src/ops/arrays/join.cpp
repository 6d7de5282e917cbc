// concatenate, and functions composed of it and of views: stack, split, tile, roll, flip and pad.
#include <croton/indexing.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/gather.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::Dim;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

// ---- concatenate: inputs the parts; attribute axis ----

InferredType infer_concatenate(InferContext& c) {
  const std::int64_t given = c.attrs.integer("axis");
  if (c.inputs.empty()) c.type_error("there is nothing to join");
  InferredType result = c.inputs[0];
  if (!base::is_index(given, result.shape.size())) c.type_error("no such axis");
  const std::size_t axis = base::to_size(given);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const InferredType& part = c.inputs[i];
    if (part.dtype != result.dtype) c.type_error("all parts must have one dtype");
    if (part.shape.size() != result.shape.size()) c.type_error("all parts must have the same number of dimensions");
    for (std::size_t d = 0; d < result.shape.size(); ++d) {
      result.shape[d] =
          d == axis ? c.apply("add", result.shape[d], part.shape[d])
                    : c.require_equal(
                          result.shape[d], part.shape[d],
                          fmt::format("sizes along axis {} must be equal, as parts are joined along axis {}", d, axis));
    }
  }
  return result;
}

NodeId concatenate_element(ElementContext& c) {
  const std::size_t axis = c.attrs.index("axis");
  expr::Arena& body = c.body;
  // {condition, value} of each part that may have elements; the last part needs no condition.
  std::vector<std::pair<NodeId, NodeId>> parts;
  NodeId start = body.integer(0);
  std::size_t last = c.input_shapes.size() - 1;
  while (last > 0 && body.known(c.input_shapes[last][axis]) == 0) --last;
  for (std::size_t i = 0; i <= last; ++i) {
    const NodeId size = c.input_shapes[i][axis];
    if (body.known(size) == 0 && last > 0) continue;
    std::vector<NodeId> at = c.index;
    at[axis] = body.size_arithmetic("sub", c.index[axis], start);
    const NodeId end = body.size_arithmetic("add", start, size);
    const NodeId before_end = i == last ? expr::no_node : body.make("lt", {c.index[axis], end});
    NodeId inside = before_end;
    if (!parts.empty()) {
      const NodeId is_after_start = body.make("ge", {c.index[axis], start});
      inside = inside == expr::no_node ? is_after_start : body.make("and", {is_after_start, inside});
    }
    parts.emplace_back(before_end, inside == expr::no_node ? c.read(i, at) : c.read_if(inside, i, at));
    start = end;
  }
  NodeId value = parts.back().second;
  for (std::size_t i = parts.size() - 1; i-- > 0;) value = body.make("where", {parts[i].first, parts[i].second, value});
  return value;
}

Array evaluate_concatenate(const EvaluateContext& c) {
  const int axis = c.attrs.axis();
  Array result = Array::empty(c.dtype, c.shape);
  std::int64_t start = 0;
  for (const Array& part : c.inputs) {
    result.slice(axis, start, start + part.shape(axis)).copy_from(part);
    start += part.shape(axis);
  }
  return result;
}

std::vector<Variable> concatenate_gradient(const GradientContext& c) {
  const int axis = c.node.attrs.axis();
  std::vector<Variable> result;
  Variable start = builder::scalar_constant(0, DType::int64);
  for (const Variable& part : c.inputs) {
    const Variable end = start + part.shape(axis);
    result.push_back(part_along(c.gradient, axis, start, end));
    start = end;
  }
  return result;
}

}  // namespace

void register_join(Registry& registry) {
  static const expr::Op op{.name = "concatenate",
                           .kind = expr::Kind::Join,
                           .arity = -1,
                           .doc = "arrays one after the other along an axis",
                           .infer = infer_concatenate,
                           .gradient = concatenate_gradient,
                           .evaluate = evaluate_concatenate,
                           .element = concatenate_element,
                           .batch = builder::batch_along_axis};
  registry.add(op);
}

}  // namespace croton::ops

namespace croton {
namespace {

using builder::describe;
using ops::normal_axes;
using ops::normal_axis;
using ops::part_along;

/// The parts in their common dtype; TypeError if there is none.
std::vector<Variable> promoted(std::string_view op, const std::vector<Variable>& parts, Where where) {
  if (parts.empty()) throw ValueError(fmt::format("{} ({}): no variables are given", op, describe(where)));
  DType dtype = Operand(parts[0], where).variable.dtype();
  for (const Variable& part : parts) dtype = promote(dtype, Operand(part, where).variable.dtype());
  std::vector<Variable> cast_parts;
  for (const Variable& part : parts) cast_parts.push_back(part.dtype() == dtype ? part : cast(part, dtype));
  return cast_parts;
}

}  // namespace

Variable concatenate(const std::vector<Variable>& parts, int axis, Where where) {
  // A kernel reads all parts of a join: more parts are joined in groups.
  constexpr std::size_t group = 32;
  const builder::OriginScope origin(where);
  std::vector<Variable> left = promoted("concatenate", parts, where);
  const int at = normal_axis(axis, left[0].rank(), "concatenate", Operand(left[0], where));
  const auto joined = [&](std::span<const Variable> some) {
    if (some.size() == 1) return some[0];
    return builder::apply("concatenate", {some.begin(), some.end()}, {{"axis", at}}, where);
  };
  while (left.size() > group) {
    std::vector<Variable> groups;
    for (std::size_t i = 0; i < left.size(); i += group)
      groups.push_back(joined(std::span(left).subspan(i, std::min(group, left.size() - i))));
    left = std::move(groups);
  }
  return joined(left);
}

Variable join(int axis, const std::vector<Variable>& parts, Where where) { return concatenate(parts, axis, where); }

Variable stack(const std::vector<Variable>& parts, int axis, Where where) {
  const builder::OriginScope origin(where);
  const std::vector<Variable> all = promoted("stack", parts, where);
  const int at = normal_axis(axis, all[0].rank() + 1, "stack", Operand(all[0], where));
  std::vector<Variable> wide;
  for (const Variable& part : all) {
    if (part.rank() != all[0].rank()) {
      throw TypeError(fmt::format("stack ({}): {}, {}: all must have the same number of dimensions", describe(where),
                                  describe(all[0]), describe(part)));
    }
    wide.push_back(expand_dims(part, at));
  }
  return concatenate(wide, at, where);
}

std::vector<Variable> split(Operand x, const std::vector<Operand>& sizes, int axis) {
  const builder::OriginScope origin(x.where);
  const int at = normal_axis(axis, x.variable.rank(), "split", x);
  Variable total = builder::scalar_constant(0, DType::int64);
  for (const Operand& size : sizes) {
    ops::demand_count("split", x, "a size", size);
    total = ops::size_arithmetic("add", total, size.variable);
  }
  const std::int64_t whole_size = base::nth(x.variable.type().shape, at);
  if (whole_size != unknown_size && total.is_constant() && total.node()->value.item<std::int64_t>() != whole_size) {
    throw ShapeError(fmt::format("split ({}): {}: sizes that add up to {}, where axis {} has size {}",
                                 describe(x.where), describe(x.variable), total.node()->value.to_string(), at,
                                 whole_size));
  }
  const Variable whole = ops::require_shape(x.variable, at, cast(total, DType::int64),
                                            "the sizes of a split must add up to the size of its axis");
  std::vector<Variable> parts;
  Variable start = builder::scalar_constant(0, DType::int64);
  for (const Operand& size : sizes) {
    const Variable end = ops::size_arithmetic("add", start, size.variable);
    const Variable part = part_along(whole, at, start, end);
    parts.push_back(ops::require_shape(part, at, size, "the part must have the requested size"));
    start = end;
  }
  return parts;
}

std::vector<Variable> split(Operand x, const Variable& sizes, int count, int axis) {
  const builder::OriginScope origin(x.where);
  if (sizes.rank() != 1 || !is_integer(sizes.dtype()) || count < 0) {
    throw TypeError(fmt::format("split ({}): {}: the sizes must be an integer vector, but {}", describe(x.where),
                                describe(x.variable), describe(sizes)));
  }
  const Variable all = ops::require_shape(sizes, {Operand(count)}, "as many sizes as parts must be given");
  std::vector<Operand> each;
  for (int i = 0; i < count; ++i) each.emplace_back(all[i]);
  return split(x, each, axis);
}

std::vector<Variable> split_evenly(Operand x, int count, int axis) {
  const builder::OriginScope origin(x.where);
  if (count < 1)
    throw ValueError(fmt::format("split_evenly ({}): {}: {} parts; there is at least 1", describe(x.where),
                                 describe(x.variable), count));
  const int at = normal_axis(axis, x.variable.rank(), "split_evenly", x);
  const Variable size = ops::size_arithmetic("floor_divide", x.variable.shape(at), Operand(count).variable);
  return split(x, std::vector<Operand>(base::to_size(count), Operand(size)), axis);
}

Variable tile(Operand x, const std::vector<Operand>& repeats) {
  const builder::OriginScope origin(x.where);
  const int given = base::to_int(repeats.size()), rank = std::max(x.variable.rank(), given);
  const Variable wide = atleast_Nd(x, rank);
  // (n, m) -> (1, n, 1, m) -> (r, n, s, m) -> (r n, s m)
  std::vector<int> pattern;
  std::vector<Operand> whole, merged;
  for (int axis = 0; axis < rank; ++axis) {
    const int r = axis - (rank - given);
    const Operand times = r < 0 ? Operand(1) : base::nth(repeats, r);
    ops::demand_count("tile", x, "a number of repetitions", times);
    pattern.insert(pattern.end(), {broadcast_axis, axis});
    const Variable size = wide.shape(axis), n = ops::whole_number(times.variable);
    whole.emplace_back(n);
    whole.emplace_back(size);
    merged.emplace_back(ops::size_arithmetic("mul", n, size));
  }
  return reshape(alloc(dimshuffle(wide, pattern), whole), merged);
}

Variable roll(Operand x, Operand shift, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  if (!axis) return reshape(roll(flatten(x), shift, 0), builder::shape_of(x.variable));
  const int at = normal_axis(*axis, x.variable.rank(), "roll", x);
  ops::demand_whole("roll", x, "the shift", shift);
  const Variable size = x.variable.shape(at);
  // The remainder of a uint64 is taken in uint64, because int64 may not hold the shift.
  const Variable by = shift.variable.dtype() == DType::uint64 ? cast(shift % cast(size, DType::uint64), DType::int64)
                                                              : cast(shift, DType::int64) % size;
  const Variable front = size - by;
  return concatenate({part_along(x.variable, at, front, {}), part_along(x.variable, at, {}, front)}, at);
}

Variable roll(Operand x, const std::vector<Operand>& shifts, const std::vector<int>& axes) {
  const builder::OriginScope origin(x.where);
  const std::size_t count = std::max(shifts.size(), axes.size());
  if ((shifts.size() != count && shifts.size() != 1) || (axes.size() != count && axes.size() != 1))
    throw TypeError(fmt::format("roll ({}): {}: {} shifts along {} axes; one is for all, else there is one for each",
                                describe(x.where), describe(x.variable), shifts.size(), axes.size()));
  for (const int axis : axes) normal_axis(axis, x.variable.rank(), "roll", x);
  Variable result = x.variable;
  for (std::size_t i = 0; i < count; ++i)
    result = roll(Operand(result, x.where), shifts[shifts.size() == 1 ? 0 : i], axes[axes.size() == 1 ? 0 : i]);
  return result;
}

Variable flip(Operand x, std::optional<std::vector<int>> axes) {
  const builder::OriginScope origin(x.where);
  std::vector<SliceSpec> specs(x.variable.type().rank(), slice());
  if (axes) {
    for (const int axis : normal_axes(*axes, x.variable.rank(), "flip", x)) base::nth(specs, axis) = slice({}, {}, -1);
  } else {
    std::ranges::fill(specs, slice({}, {}, -1));
  }
  return x.variable.at(specs);
}

namespace {

/// The element of an axis of n for each of the positions -before, ..., n - 1 + after.
Variable padded_positions(const Variable& n, const Variable& before, const Variable& after, PadMode mode) {
  const Variable end = ops::size_arithmetic("add", before, n);
  const Variable at = ops::numbers_below(ops::size_arithmetic("add", end, after), n.where()) - before;
  if (mode == PadMode::edge || mode == PadMode::wrap) return at;
  // The index goes forward and then backward. A reflected axis of one element has period 0, for which it stays 0.
  const Variable period = mode == PadMode::reflect ? 2 * n - 2 : 2 * n;
  const Variable forward = at % period, backward = mode == PadMode::reflect ? period - forward : period - 1 - forward;
  return minimum(forward, backward);
}

}  // namespace

Variable pad(Operand x, const std::vector<std::pair<Operand, Operand>>& widths, PadMode mode, Operand value) {
  const builder::OriginScope origin(x.where);
  const int rank = x.variable.rank(), given = base::to_int(widths.size());
  if (given > rank) {
    throw TypeError(
        fmt::format("pad ({}): {}: widths for {} dimensions", describe(x.where), describe(x.variable), given));
  }
  Variable result = x.variable;
  std::vector<Operand> shape = builder::shape_of(x.variable);
  std::vector<SliceSpec> inside(x.variable.type().rank(), slice());
  for (int i = 0; i < given; ++i) {
    const int axis = rank - given + i;
    const auto& [first, second] = base::nth(widths, i);
    for (const Operand& width : {first, second}) {
      ops::demand_count("pad", x, "a width", width);
      ops::replace_line(width, x.where);
    }
    const Variable before = ops::as_size(first.variable, x.where), after = ops::as_size(second.variable, x.where);
    const Variable n = x.variable.shape(axis);
    const auto is_zero = [](const Operand& width) {
      return width.variable.is_constant() && width.variable.node()->value.as_double(0) == 0;
    };
    if (is_zero(first) && is_zero(second)) continue;
    if (mode == PadMode::constant) {
      const Variable end = ops::size_arithmetic("add", before, n);
      base::nth(shape, axis) = ops::size_arithmetic("add", end, after);
      base::nth(inside, axis) = slice(before, end);
    } else {
      const IndexMode index_mode = mode == PadMode::wrap ? IndexMode::wrap : IndexMode::clip;
      result = take(result, padded_positions(n, before, after, mode), axis, index_mode);
    }
  }
  if (mode != PadMode::constant) return result;
  if (value.variable.rank() != 0) {
    throw TypeError(fmt::format("pad ({}): {}: the value must be a scalar, but {}", describe(x.where),
                                describe(x.variable), describe(value.variable)));
  }
  return set_subtensor(alloc(cast(value, x.variable.dtype()), shape).at(inside), x);
}

}  // namespace croton
