// Diagonals and triangles of matrices: comparisons of row and column numbers, which kernels compute from the index.
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "ops/arrays/gather.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton {
namespace {

using builder::describe;

Variable row_numbers(const Variable& n) { return shape_padright(ops::numbers_below(n, n.where())); }
Variable column_numbers(const Variable& n) { return shape_padleft(ops::numbers_below(n, n.where())); }

void demand_matrix(std::string_view op, const Operand& x) {
  if (x.variable.rank() >= 2) return;
  throw TypeError(
      fmt::format("{} ({}): {}: at least 2 dimensions are needed", op, describe(x.where), describe(x.variable)));
}

/// column - row of the matrices of the last two axes.
Variable diagonals(const Operand& x) {
  return column_numbers(x.variable.shape(-1)) - row_numbers(x.variable.shape(-2));
}

Variable square_mask(const Variable& n, const std::optional<Operand>& m, const Variable& k, bool one_diagonal) {
  const Variable rows = row_numbers(n), columns = column_numbers(m ? m->variable : n);
  return one_diagonal ? eq(columns - rows, k) : columns - rows <= k;
}

void demand_sizes(std::string_view op, const Operand& n, const std::optional<Operand>& m) {
  ops::demand_count(op, n, "the number of rows", n);
  if (m) ops::demand_count(op, n, "the number of columns", *m);
}

Variable zero_of(const Variable& x) { return builder::scalar_constant(0, x.dtype()); }

}  // namespace

Variable eye(Operand n, std::optional<Operand> m, Operand k, std::optional<DType> dtype) {
  const builder::OriginScope origin(n.where);
  demand_sizes("eye", n, m);
  ops::demand_whole("eye", n, "the diagonal", k);
  return cast(square_mask(n.variable, m, ops::whole_index(k.variable), true), dtype.value_or(base::config().float_x()));
}
Variable identity(Operand n, std::optional<DType> dtype) { return eye(n, {}, Operand(0, n.where), dtype); }

Variable tri(Operand n, std::optional<Operand> m, Operand k, std::optional<DType> dtype) {
  const builder::OriginScope origin(n.where);
  demand_sizes("tri", n, m);
  ops::demand_whole("tri", n, "the diagonal", k);
  return cast(square_mask(n.variable, m, ops::whole_index(k.variable), false),
              dtype.value_or(base::config().float_x()));
}

Variable tril(Operand x, Operand k) {
  const builder::OriginScope origin(x.where);
  demand_matrix("tril", x);
  ops::demand_whole("tril", x, "the diagonal", k);
  return where(diagonals(x) <= ops::whole_index(k.variable), x, zero_of(x.variable));
}
Variable triu(Operand x, Operand k) {
  const builder::OriginScope origin(x.where);
  demand_matrix("triu", x);
  ops::demand_whole("triu", x, "the diagonal", k);
  // Not <= k - 1, which overflows for the lowest k.
  return where(diagonals(x) < ops::whole_index(k.variable), zero_of(x.variable), x);
}

Variable diag(Operand x, Operand k) {
  if (x.variable.rank() != 1) return diagonal(x, k);
  const builder::OriginScope origin(x.where);
  ops::demand_whole("diag", x, "the diagonal", k);
  const Variable offset = ops::whole_index(k.variable), before = maximum(offset, 0);
  const Variable n = x.variable.shape(0) + abs(offset);
  // The element in column j is x[j - max(k, 0)]: for k < 0 the rows begin |k| later, for k >= 0 the columns do.
  const Variable row = pad(x, {{before, n - x.variable.shape(0) - before}});
  return where(square_mask(n, {}, offset, true), shape_padleft(row), zero_of(x.variable));
}

Variable diagonal(Operand x, Operand offset, int axis1, int axis2) {
  const builder::OriginScope origin(x.where);
  demand_matrix("diagonal", x);
  ops::demand_whole("diagonal", x, "the offset", offset);
  const int rank = x.variable.rank();
  ops::normal_axes({axis1, axis2}, rank, "diagonal", x);  // for its errors
  const Variable moved = moveaxis(x, {axis1, axis2}, {-2, -1});
  const Variable k = ops::whole_index(offset.variable), down = maximum(-k, 0), right = maximum(k, 0);
  const Variable count = minimum(moved.shape(-2) - down, moved.shape(-1) - right);
  const Variable at = arange(maximum(count, 0));
  // All positions are inside.
  const std::int64_t last = rank - 2;
  return ops::gather(moved, {at + down, at + right}, {.axes = {last, last + 1}, .at = last, .mode = IndexMode::clip},
                     x.where);
}

Variable trace(Operand x, Operand offset, int axis1, int axis2) {
  const builder::OriginScope origin(x.where);
  return sum(diagonal(x, offset, axis1, axis2), ReduceOptions(-1));
}

Variable fill_diagonal(Operand x, Operand value) {
  const builder::OriginScope origin(x.where);
  return fill_diagonal_offset(x, value, 0);
}

Variable fill_diagonal_offset(Operand x, Operand value, Operand offset) {
  const builder::OriginScope origin(x.where);
  demand_matrix("fill_diagonal", x);
  ops::demand_whole("fill_diagonal", x, "the offset", offset);
  const bool is_zero = offset.variable.is_constant() && offset.variable.node()->value.as_double(0) == 0;
  if (value.variable.rank() != 0 || (x.variable.rank() > 2 && !is_zero)) {
    throw TypeError(
        fmt::format("fill_diagonal ({}): {}: the value is a scalar, and only matrices have other diagonals "
                    "than the main one; the value is {}",
                    describe(x.where), describe(x.variable), describe(value.variable)));
  }
  const int rank = x.variable.rank();
  const auto numbers = [&](int axis) { return shape_padright(arange(x.variable.shape(axis)), rank - 1 - axis); };
  Variable mask = eq(numbers(1) - numbers(0), ops::whole_index(offset.variable));
  for (int axis = 2; axis < rank; ++axis) mask = mask & eq(numbers(axis), numbers(0));
  return where(mask, cast(value, x.variable.dtype()), x);
}

Variable one_hot(Operand x, Operand count, std::optional<DType> dtype) {
  const builder::OriginScope origin(x.where);
  ops::demand_count("one_hot", x, "the count", count);
  if (!is_integer(x.variable.dtype())) {
    throw TypeError(fmt::format("one_hot ({}): {}: positions are integers", describe(x.where), describe(x.variable)));
  }
  const Variable at = ops::normal_positions(x.variable, count.variable, IndexMode::raise, x.variable.rank());
  return cast(eq(shape_padright(at), ops::numbers_below(count.variable, x.where)),
              dtype.value_or(base::config().float_x()));
}

Variable diff(Operand x, int n, int axis) {
  const builder::OriginScope origin(x.where);
  const int at = ops::normal_axis(axis, x.variable.rank(), "diff", x);
  if (n < 0)
    throw ValueError(
        fmt::format("diff ({}): {}: {} times; it is at least 0", describe(x.where), describe(x.variable), n));
  Variable result = x.variable;
  for (int i = 0; i < n; ++i) {
    const Variable later = ops::part_along(result, at, 1, {}), earlier = ops::part_along(result, at, {}, -1);
    result = is_bool(result.dtype()) ? neq(later, earlier) : later - earlier;
  }
  return result;
}

}  // namespace croton
