// Generators, whose elements are functions of the index, and checks, which return a value if a condition holds.
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/checked.hpp"
#include "builder/gradient_context.hpp"
#include "expr/arena.hpp"
#include "expr/evaluate.hpp"
#include "ops/arrays/batch_rules.hpp"
#include "ops/arrays/gather.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/registry.hpp"

namespace croton::ops {
namespace {

using builder::GradientContext;
using expr::ElementContext;
using expr::EvaluateContext;
using expr::InferContext;
using expr::InferredType;
using expr::NodeId;

// ---- arange: inputs count, start, step; the result has the dtype of start ----

InferredType infer_arange(InferContext& c) {
  if (!c.inputs[1].shape.empty() || !c.inputs[2].shape.empty() || c.inputs[1].dtype != c.inputs[2].dtype) {
    c.type_error("start and step must be scalars of one dtype");
  }
  const expr::Dim count = c.value_of(0);
  if (c.inputs[2].dtype == DType::int64) {  // n // n is 1 for all n except 0
    const expr::Dim step = c.value_of(2);
    c.require_equal(c.apply("floor_divide", step, step), c.constant(1), "the step of arange must not be 0");
  }
  return {c.inputs[1].dtype, {count}};
}

NodeId arange_element(ElementContext& c) {
  // Integers are index arithmetic, which folds.
  if (c.dtype == DType::int64)
    return c.body.size_arithmetic("add", c.read(1, {}), c.body.size_arithmetic("mul", c.index[0], c.read(2, {})));
  const NodeId at = c.body.cast(c.index[0], compute_dtype(c.dtype));
  const NodeId value = c.body.make("add", {c.read(1, {}), c.body.make("mul", {at, c.read(2, {})})});
  return c.body.cast(value, c.dtype);
}

/// Integers are index arithmetic if they are indices, and wrap if they are data.
Array evaluate_whole_arange(const EvaluateContext& c) {
  const std::int64_t start = c.inputs[1].item<std::int64_t>(), step = c.inputs[2].item<std::int64_t>();
  Array result = Array::empty(DType::int64, c.shape);
  for (std::int64_t i = 0; std::int64_t& value : result.data<std::int64_t>())
    value = base::wrapped_add(start, base::wrapped_mul(i++, step));
  return result;
}

Array evaluate_arange(const EvaluateContext& c) {
  if (c.dtype == DType::int64) return evaluate_whole_arange(c);
  const double start = c.inputs[1].as_double(0), step = c.inputs[2].as_double(0);
  Array result = Array::empty(DType::float64, c.shape);
  for (double i = 0; double& value : result.data<double>()) value = start + i++ * step;
  return result.astype(c.dtype);
}

std::vector<Variable> arange_gradient(const GradientContext& c) {
  std::vector<Variable> result(3);
  const Variable at = cast(arange(Operand(c.output.shape(0))), c.gradient.dtype());
  result[1] = sum(c.gradient);
  result[2] = sum(c.gradient * at);
  return result;
}

// ---- checked_index: index, size; with `from_end` negative indices count from the end ----

InferredType infer_checked_index(InferContext& c) {
  c.attrs.text("message");
  if (!is_integer(c.inputs[0].dtype)) c.type_error("indices are integers");
  c.value_of(1);
  return {c.inputs[0].dtype, c.inputs[0].shape};
}

NodeId checked_index_element(ElementContext& c) {
  const NodeId index = c.read(0, c.index);
  const NodeId wide = c.body.cast(index, DType::int64);
  const NodeId size = c.body.cast(c.read(1, {}), DType::int64);
  const NodeId zero = c.body.integer(0);
  const bool from_end = c.attrs.integer_or("from_end", 0) != 0;
  const NodeId at =
      from_end ? c.body.make("where", {c.body.make("lt", {wide, zero}), c.body.make("add", {wide, size}), wide}) : wide;
  const NodeId inside = c.body.make("and", {c.body.make("ge", {at, zero}), c.body.make("lt", {at, size})});
  c.check(inside, wide, name_size(c.attrs.text("message"), c.body, size));
  return from_end ? c.body.cast(at, c.dtype) : index;
}

Array evaluate_checked_index(const EvaluateContext& c) {
  const std::int64_t size = c.inputs[1].astype(DType::int64).item<std::int64_t>();
  const bool from_end = c.attrs.integer_or("from_end", 0) != 0;
  Array wide = c.inputs[0].astype(DType::int64);
  for (std::int64_t& index : wide.data<std::int64_t>()) {
    const std::int64_t at = from_end && index < 0 ? index + size : index;
    if (at < 0 || at >= size) throw IndexError(expr::fill_message(name_size(c.attrs.text("message"), size), index));
    index = at;
  }
  return wide.astype(c.dtype);
}

}  // namespace

void register_generate(Registry& registry) {
  static const expr::Op ops[] = {
      {.name = "arange",
       .kind = expr::Kind::Generate,
       .arity = 3,
       .doc = "count numbers: start, start + step, ...",
       .infer = infer_arange,
       .gradient = arange_gradient,
       .evaluate = evaluate_arange,
       .element = arange_element,
       .batch = batch_arange},
      {.name = "checked_index",
       .kind = expr::Kind::Check,
       .arity = 2,
       .doc = "the index, if 0 <= index < size everywhere",
       .infer = infer_checked_index,
       .gradient = [](const GradientContext&) { return std::vector<Variable>(2); },
       .evaluate = evaluate_checked_index,
       .element = checked_index_element,
       .values = 1,
       .batch = batch_checked_index},
  };
  for (const expr::Op& op : ops) registry.add(op);
}

}  // namespace croton::ops

namespace croton {

Variable arange(Operand n) {
  if (is_float(n.variable.dtype()) && n.variable.rank() == 0)
    return arange(Operand(0, n.where), n, Operand(1, n.where));
  if (!is_discrete(n.variable.dtype()) || n.variable.rank() != 0) {
    throw TypeError(fmt::format("arange ({}): {}: the count must be a real scalar", builder::describe(n.where),
                                builder::describe(n.variable)));
  }
  const builder::OriginScope origin(n.where);
  const bool is_signed = is_signed_int(n.variable.dtype());
  return ops::numbers_below(is_signed ? cast(maximum(n, 0), DType::int64) : n.variable, n.where);
}

namespace {

/// The count of numbers from `start` up or down to `stop`, which is excluded. It does not compute their difference,
/// which may overflow.
std::uint64_t count_between(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(stop);
  return ((step > 0 ? to - from : from - to) - 1) / base::magnitude(step) + 1;
}

/// Checks constant floats: ValueError for infinities, nan and a step of 0, ShapeError for too many numbers.
void check_known_floats(const Operand& start, const Operand& stop, const Operand& step) {
  double value[3];
  for (std::size_t i = 0; const Operand* number : {&start, &stop, &step}) {
    if (!number->variable.is_constant()) return;
    value[i++] = number->variable.node()->value.as_double(0);
  }
  const std::string which =
      fmt::format("arange ({}): from {} to {} by {}", builder::describe(start.where), value[0], value[1], value[2]);
  const double count = std::ceil((value[1] - value[0]) / value[2]);
  if (std::isnan(count)) throw ValueError(which + ": not a range; finite numbers are needed");
  if (count >= std::ldexp(1.0, 63)) throw ShapeError(which + ": more numbers than an index can count");
}

/// The count of constant bounds; nothing if one is not constant.
std::optional<Variable> known_count(const Variable& start, const Variable& stop, const Variable& step, Where where) {
  for (const Variable* v : {&start, &stop, &step}) {
    if (!v->is_constant()) return std::nullopt;
  }
  const auto number = [](const Variable& v) { return v.node()->value.astype(DType::int64).item<std::int64_t>(); };
  const std::uint64_t count = count_between(number(start), number(stop), number(step));
  const auto counted = base::checked_cast<std::int64_t>(count);
  if (!counted)
    throw ShapeError(
        fmt::format("arange ({}): {} numbers are more than an index can count", builder::describe(where), count));
  return constant(Array(*counted), "", where);
}

}  // namespace

Variable arange(Operand start, Operand stop, Operand step) {
  const builder::OriginScope origin(start.where);
  for (const Operand* bound : {&start, &stop, &step}) {
    if (bound->variable.rank() == 0) continue;
    throw TypeError(fmt::format("arange ({}): start, stop and step must be scalars, but {}",
                                builder::describe(start.where), builder::describe(bound->variable)));
  }
  if (step.variable.is_constant() && step.variable.node()->value.as_double(0) == 0)
    throw ValueError(
        fmt::format("arange ({}): a step of 0; any other number is accepted", builder::describe(start.where)));
  DType dtype = promote(promote(start.variable.dtype(), stop.variable.dtype()), step.variable.dtype());
  if (is_discrete(dtype)) dtype = DType::int64;
  const Variable a = cast(start, dtype), b = cast(stop, dtype), s = cast(step, dtype);
  if (!is_float(dtype)) {
    if (const auto count = known_count(start.variable, stop.variable, step.variable, start.where))
      return builder::apply("arange", {*count, a, s}, {}, start.where);
  }
  // For integers ceil((b - a) / s) is -((a - b) // s).
  const auto count_to = [&](const Variable& end) { return -floor_divide(a - end, s) * 1; };
  if (!is_float(dtype) && start.variable.is_constant() && step.variable.is_constant()) {
    // The difference may overflow if stop is on the other side of start, where the count is 0.
    const Variable end = step.variable.node()->value.as_double(0) > 0 ? maximum(b, a) : minimum(b, a);
    return builder::apply("arange", {count_to(end), a, s}, {}, start.where);
  }
  if (!is_float(dtype)) return builder::apply("arange", {maximum(count_to(b), 0), a, s}, {}, start.where);
  check_known_floats(start, stop, step);
  // -1, an invalid size, if the count is nan or has more than 63 bits.
  const Variable real = ceil((b - a) / s);
  const Variable count = where(real < std::ldexp(1.0, 63), maximum(cast(real, DType::int64), 0), -1);
  return builder::apply("arange", {count, a, s}, {}, start.where);
}

}  // namespace croton
