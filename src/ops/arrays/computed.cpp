// Results whose size depends on data, composed of running sums, sorting and searching: the k-th true element is where a
// running count first reaches k + 1. The count is an integer scalar on which sizes depend: the host reads it back as a
// new size, and the kernels that follow are bound to that size.
#include <croton/ops.hpp>
#include <croton/sorting.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/lines.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/arrays/scatter.hpp"

namespace croton {
namespace {

[[noreturn]] void throw_type_error(std::string_view op, const Operand& x, std::string_view why) {
  throw TypeError(fmt::format("{} ({}): {}: {}", op, builder::describe(x.where), builder::describe(x.variable), why));
}

/// The numbers, checked to be at least 0 and below `size` when the result is computed (IndexError).
Variable checked(const Variable& x, const Variable& size, const std::string& message, Where where) {
  return builder::apply("checked_index", {ops::whole_index(x), size}, {{"message", message}}, where);
}
Variable not_negative(const Variable& x, const std::string& message, Where where) {
  return checked(x, constant(Array(std::numeric_limits<std::int64_t>::max())), message, where);
}

Variable flat(const Variable& x) { return x.rank() == 1 ? x : flatten(x); }

/// The positions of the elements of a vector that are not 0.
Variable positions_of(const Variable& flags) {
  const Variable ones = cast(neq(flags, 0), DType::int64);
  return searchsorted(cumsum(ones), arange(sum(ones)) + 1);
}

/// The slices along an axis as the rows of a matrix.
Variable rows_along(const Variable& x, int axis) {
  Variable width = constant(Array(std::int64_t{1}));
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) width = width * x.shape(d);
  }
  return reshape(moveaxis(x, {axis}, {0}), {x.shape(axis), width});
}

}  // namespace

Variable flatnonzero(Operand x) {
  const builder::OriginScope origin(x.where);
  if (x.variable.rank() == 0)
    throw_type_error("nonzero", x, "a scalar has no positions; flatten it, or compare it with 0");
  return positions_of(flat(x.variable));
}

std::vector<Variable> nonzero(Operand x) {
  const builder::OriginScope origin(x.where);
  Variable left = flatnonzero(x);
  std::vector<Variable> indices(x.variable.type().rank());
  for (int axis = x.variable.rank() - 1; axis > 0; --axis) {
    base::nth(indices, axis) = left % x.variable.shape(axis);
    left = floor_divide(left, x.variable.shape(axis));
  }
  indices[0] = left;
  return indices;
}

Variable nonzero_matrix(Operand x) {
  const builder::OriginScope origin(x.where);
  const std::vector<Variable> indices = nonzero(x);
  const Variable axis = dimshuffle(arange(x.variable.rank()), {0, broadcast_axis});
  Variable rows = dimshuffle(indices[0], {broadcast_axis, 0});
  // Computes all rows at once; the broadcast with `axis` makes one row per axis.
  rows = where(eq(axis, 0), rows, 0);
  for (int d = 1; d < x.variable.rank(); ++d)
    rows = where(eq(axis, d), dimshuffle(base::nth(indices, d), {broadcast_axis, 0}), rows);
  return rows;
}

Variable nonzero_values(Operand x) {
  const builder::OriginScope origin(x.where);
  return ops::pick(flat(x.variable), flatnonzero(x));
}

Variable compress(Operand condition, Operand x, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  if (condition.variable.rank() != 1) throw_type_error("compress", condition, "the condition is a vector");
  const auto [lines, at] = ops::flat_or_axis(x, axis, "compress");
  const Variable chosen = checked(positions_of(condition.variable), lines.shape(at),
                                  "compress: the condition is true at {}, where the axis has ended", x.where);
  return ops::take_along(lines, chosen, at);
}

Variable extract(Operand condition, Operand x) {
  const builder::OriginScope origin(x.where);
  return compress(flat(condition.variable), x);
}

Variable repeat(Operand x, Operand repeats, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  const Variable& times = repeats.variable;
  if (!is_integer(times.dtype()) || times.rank() > 1)
    throw_type_error("repeat", repeats, "repeats are an integer scalar or an integer vector");
  const auto [lines, at] = ops::flat_or_axis(x, axis, "repeat");
  if (times.rank() == 0) {
    if (times.is_constant() && times.node()->value.as_double(0) < 0)
      throw ValueError(fmt::format("repeat ({}): {}: repeated {} times", builder::describe(x.where),
                                   builder::describe(x.variable), times.node()->value.to_string()));
    return ops::repeat_each(lines, times, at);
  }
  const Variable counts =
      alloc(not_negative(times, "repeat: an element is to be repeated {} times", x.where), {lines.shape(at)});
  // A sum that overflows int64 is negative at its first overflow; then the size is -1, which is an error.
  const Variable ends = cumsum(counts), total = where(all(ends >= 0), sum(counts), -1);
  return ops::take_along(lines, searchsorted(ends, ops::numbers_below(total, x.where), Side::right), at);
}

Unique unique(Operand x, std::optional<int> axis) {
  const builder::OriginScope origin(x.where);
  const auto [lines, at] = ops::flat_or_axis(x, axis, "unique");
  const bool of_slices = lines.rank() > 1;
  const Variable rows = of_slices ? rows_along(lines, at) : lines, n = rows.shape(0);
  const Variable order = of_slices ? builder::apply("argsort_rows", {rows}, {}, x.where) : argsort(rows);
  const Variable number = arange(n), rising = ops::take_along(rows, order, 0);
  const Variable before = ops::take_along(rising, number - 1, 0);
  Variable same = eq(rising, before);
  if (is_float(rows.dtype())) same = same | (isnan(rising) & isnan(before));
  if (of_slices) same = all(same, ReduceOptions{1});
  const Variable is_new = cast(eq(number, 0) | ~same, DType::int64);
  const Variable group = cumsum(is_new), which = arange(sum(is_new)) + 1;
  const Variable first = searchsorted(group, which), index = ops::pick(order, first);
  return {ops::take_along(lines, index, at), index, ops::scatter(zeros_like(order), order, group - 1, false),
          searchsorted(group, which, Side::right) - first};
}

Variable bincount(Operand x, std::optional<Operand> weights, std::int64_t minlength) {
  const builder::OriginScope origin(x.where);
  const Variable& numbers = x.variable;
  if (numbers.rank() != 1 || !is_discrete(numbers.dtype()) || numbers.dtype() == DType::uint64)
    throw_type_error("bincount", x, "a vector of integers that int64 can hold is expected");
  if (minlength < 0)
    throw ValueError(fmt::format("bincount ({}): a minlength of {}", builder::describe(x.where), minlength));
  const Variable bins = not_negative(numbers, "bincount: {} is below 0, or more than there can be numbers", x.where);
  // The largest number plus 1; one more element makes it 0 for an empty vector.
  const Variable number = arange(bins.shape(0) + 1), n = bins.shape(0);
  const Variable needed = max(ops::pick(bins + 1, where(number < n, number, -1)));
  Variable amounts = weights ? weights->variable : ones_like(bins);
  if (is_bool(amounts.dtype())) amounts = cast(amounts, DType::int64);
  const Variable none = alloc(builder::scalar_constant(0, amounts.dtype()), {maximum(needed, Operand(minlength))});
  return ops::scatter(none, bins, amounts, true);
}

}  // namespace croton
