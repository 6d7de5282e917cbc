// Products of all ranks, composed of matrix products (contract.cpp): axes are ordered as batch, free and summed axes,
// and each group is merged into one axis.
#include "ops/linear/products.hpp"

#include <croton/complex.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/axes.hpp"

namespace croton {
namespace {

using builder::describe;
using builder::OriginScope;
using expr::axes_from;

[[noreturn]] void throw_type_error(std::string_view op, Where where, const Variable& a, const Variable& b,
                                   std::string_view message) {
  throw TypeError(fmt::format("{} ({}): {}, {}: {}", op, describe(where), describe(a), describe(b), message));
}

Where line_of(const Operand& a, const Operand& b) { return a.variable.is_constant() ? b.where : a.where; }

std::int64_t stated_size(const Variable& x, int axis) { return base::nth(x.type().shape, axis); }

std::vector<int> others(int rank, const std::vector<int>& some, const std::vector<int>& more) {
  std::vector<int> left;
  for (int axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(some, axis) == some.end() && std::ranges::find(more, axis) == more.end())
      left.push_back(axis);
  }
  return left;
}

/// A dimshuffle, unless it is the identity.
Variable arrange(const Variable& x, const std::vector<int>& pattern) {
  return pattern == axes_from(0, x.rank()) ? x : dimshuffle(x, pattern);
}

/// The number of elements of some axes; a constant if all sizes are known, so that types state it.
Operand elements(const Variable& x, const std::vector<int>& axes) {
  std::int64_t known = 1;
  bool all = true;
  for (const int axis : axes) {
    all = all && stated_size(x, axis) != unknown_size && !__builtin_mul_overflow(known, stated_size(x, axis), &known);
  }
  if (all) return known;
  Variable total = x.shape(axes[0]);
  for (std::size_t i = 1; i < axes.size(); ++i) total = total * x.shape(axes[i]);
  return total;
}

/// x, required to have these sizes; an undefined one allows any size.
Variable with_sizes(const Variable& x, const std::vector<Variable>& sizes) {
  std::vector<Operand> shape;
  bool any = false;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Variable& wanted = base::nth(sizes, axis);
    any = any || wanted.defined();
    shape.emplace_back(wanted.defined() ? wanted : x.shape(axis));
  }
  return any ? alloc(x, shape) : x;
}

/// Requires pairs of sizes to be equal if that is not known: a product over merged axes would not check them.
void make_equal(Variable& x, const std::vector<int>& x_axes, Variable& y, const std::vector<int>& y_axes) {
  std::vector<Variable> for_x(x.type().rank()), for_y(y.type().rank());
  for (std::size_t i = 0; i < x_axes.size(); ++i) {
    const bool x_known = stated_size(x, x_axes[i]) != unknown_size, y_known = stated_size(y, y_axes[i]) != unknown_size;
    if (x_known && y_known) continue;
    if (y_known)
      base::nth(for_x, x_axes[i]) = y.shape(y_axes[i]);
    else
      base::nth(for_y, y_axes[i]) = x.shape(x_axes[i]);
  }
  x = with_sizes(x, for_x);
  y = with_sizes(y, for_y);
}

/// The product of integer matrices, which libraries lack: a sum of products, exact modulo 2^64, in one kernel.
Variable integer_product(Variable a, Variable b) {
  const int rank = a.rank();
  // A stated inner size of 1 would broadcast against an unknown one: the other has to be 1 too.
  const bool one_a = a.type().broadcasts(rank - 1), one_b = b.type().broadcasts(rank - 2);
  if (one_a != one_b) make_equal(a, {rank - 1}, b, {rank - 2});
  std::vector<int> left = axes_from(0, rank), right = axes_from(0, rank);
  left.push_back(broadcast_axis);
  right.insert(right.end() - 2, broadcast_axis);
  const DType wide = is_unsigned_int(a.dtype()) ? DType::uint64 : DType::int64;
  return sum(cast(dimshuffle(a, left), wide) * cast(dimshuffle(b, right), wide), ReduceOptions(rank - 1));
}

Variable multiply(const Variable& x, const Variable& y, Where where);

/// The product of complex matrices by up to four real products: (a + ib)(c + id) = ac - bd + i(ad + bc). Each is a call
/// of a library, or a kernel, like any other product.
Variable complex_product(const Variable& x, const Variable& y, Where where) {
  const Variable a = real(x), c = real(y);
  if (!is_complex(x.dtype())) return complex(multiply(a, c, where), multiply(a, imag(y), where));
  if (!is_complex(y.dtype())) return complex(multiply(a, c, where), multiply(imag(x), c, where));
  const Variable b = imag(x), d = imag(y);
  return complex(multiply(a, c, where) - multiply(b, d, where), multiply(a, d, where) + multiply(b, c, where));
}

/// The matrix products over the last two axes, of operands of equal rank and any dtypes.
Variable multiply(const Variable& x, const Variable& y, Where where) {
  const DType dtype = promote(x.dtype(), y.dtype());
  if (is_complex(dtype)) return cast(complex_product(x, y, where), dtype);
  // float16 products accumulate in float32, as reductions do.
  const DType compute = compute_dtype(dtype);
  const Variable left = cast(cast(x, dtype), compute), right = cast(cast(y, dtype), compute);
  if (is_discrete(dtype)) return cast(integer_product(left, right), dtype);
  return cast(builder::apply(x.rank() == 2 ? "dot" : "batched_dot", {left, right}, {}, where), dtype);
}

/// Axes with negative ones counted from the end; they keep their order, because they are pairs.
std::vector<int> numbered(const std::vector<int>& axes, const Variable& x, std::string_view op, Where where) {
  std::vector<int> result;
  const auto fail = [&](const std::string& message) {
    throw ValueError(fmt::format("{} ({}): {}: {}", op, describe(where), describe(x), message));
  };
  for (const int axis : axes) {
    if (x.rank() == 0) fail(fmt::format("axis {}, where there are no axes", axis));
    if (axis < -x.rank() || axis >= x.rank())
      fail(fmt::format("axis {}, where {} to {} are accepted", axis, -x.rank(), x.rank() - 1));
    result.push_back(axis < 0 ? axis + x.rank() : axis);
    if (std::ranges::count(result, result.back()) > 1) fail(fmt::format("axis {} is named twice", result.back()));
  }
  return result;
}

Variable tensordot_of(std::string_view op, const Operand& a, const Operand& b, int batch,
                      const std::vector<int>& a_axes, const std::vector<int>& b_axes) {
  const Where where = line_of(a, b);
  const OriginScope origin(where);
  const Variable &x = a.variable, &y = b.variable;
  if (x.rank() < batch || y.rank() < batch)
    throw_type_error(op, where, x, y, "each side needs a first axis, the batch");
  if (a_axes.size() != b_axes.size())
    throw_type_error(
        op, where, x, y,
        fmt::format("{} and {} axes are named; they are summed over in pairs", a_axes.size(), b_axes.size()));
  ops::Contraction axes{axes_from(0, batch), axes_from(0, batch), numbered(a_axes, x, op, where),
                        numbered(b_axes, y, op, where)};
  for (const auto* list : {&axes.left_summed, &axes.right_summed}) {
    if (batch > 0 && std::ranges::find(*list, 0) != list->end())
      throw_type_error(op, where, x, y, "axis 0 is the batch and cannot be summed over");
  }
  return ops::contract(op, x, y, axes, where);
}

Variable tensordot_of(std::string_view op, const Operand& a, const Operand& b, int batch, int axes) {
  const int most = std::min(a.variable.rank(), b.variable.rank()) - batch;
  if (axes < 0 || axes > std::max(most, 0))
    throw_type_error(op, line_of(a, b), a.variable, b.variable,
                     fmt::format("the sum is over {} axes, where 0 to {} are possible", axes, std::max(most, 0)));
  return tensordot_of(op, a, b, batch, axes_from(a.variable.rank() - axes, axes), axes_from(batch, axes));
}

/// x with new first axes of size 1, up to that rank.
Variable padded(const Variable& x, int rank) {
  std::vector<int> pattern(base::to_size(std::max(0, rank - x.rank())), broadcast_axis);
  for (int axis = 0; axis < x.rank(); ++axis) pattern.push_back(axis);
  return arrange(x, pattern);
}

/// If a side broadcasts some, but not all, of the axes before the matrices, it is repeated in memory along them.
void broadcast_batch(Variable& x, Variable& y) {
  const int batch = x.rank() - 2;
  const auto one = [&](const Variable& v, int axis) { return v.type().broadcasts(axis); };
  const auto all_ones = [&](const Variable& v) {
    return std::ranges::all_of(axes_from(0, batch), [&](int axis) { return one(v, axis); });
  };
  if (all_ones(x) || all_ones(y)) return;
  std::vector<Variable> for_x(x.type().rank()), for_y = for_x;
  for (int axis = 0; axis < batch; ++axis) {
    if (one(x, axis) && !one(y, axis)) base::nth(for_x, axis) = y.shape(axis);
    if (one(y, axis) && !one(x, axis)) base::nth(for_y, axis) = x.shape(axis);
  }
  const Variable wide_x = with_sizes(x, for_x);
  y = with_sizes(y, for_y);
  x = wide_x;
}

/// x as a vector, in C order.
Variable flat(const Variable& x) { return x.rank() == 1 ? x : flatten(x); }

}  // namespace

namespace ops {

Variable contract(std::string_view op, const Variable& left, const Variable& right, const Contraction& axes,
                  Where where, std::string_view demand) {
  const auto check = [&](const std::vector<int>& l, const std::vector<int>& r, bool ones_repeat) {
    for (std::size_t i = 0; i < l.size(); ++i) {
      const std::int64_t a = stated_size(left, l[i]), b = stated_size(right, r[i]);
      if (a == unknown_size || b == unknown_size || a == b || (ones_repeat && (a == 1 || b == 1))) continue;
      const std::string what =
          demand.empty() || ones_repeat
              ? fmt::format("axis {} of the left side must equal axis {} of the right side", l[i], r[i])
              : std::string(demand);
      throw ShapeError(fmt::format("{} ({}): {} but {}: {}, {} is not {}", op, describe(where), describe(left),
                                   describe(right), what, a, b));
    }
  };
  check(axes.left_batch, axes.right_batch, true);
  check(axes.left_summed, axes.right_summed, false);
  const int batch = base::to_int(axes.left_batch.size());
  const std::vector<int> left_free = others(left.rank(), axes.left_batch, axes.left_summed);
  const std::vector<int> right_free = others(right.rank(), axes.right_batch, axes.right_summed);

  Variable x = left, y = right;
  if (axes.left_summed.size() > 1) make_equal(x, axes.left_summed, y, axes.right_summed);
  // Orders the axes of a side as batch, rows, columns; rows and columns become one axis each.
  const auto as_matrices = [&](const Variable& v, const std::vector<int>& front, const std::vector<int>& rows,
                               const std::vector<int>& columns) {
    std::vector<int> pattern = front;
    for (const auto* group : {&rows, &columns}) {
      if (group->empty()) pattern.push_back(broadcast_axis);
      pattern.insert(pattern.end(), group->begin(), group->end());
    }
    const Variable arranged = arrange(v, pattern);
    if (rows.size() <= 1 && columns.size() <= 1) return arranged;
    std::vector<Operand> shape;
    for (const int axis : front) shape.emplace_back(v.shape(axis));
    for (const auto* group : {&rows, &columns}) shape.push_back(group->empty() ? Operand(1) : elements(v, *group));
    return reshape(arranged, shape);
  };
  x = as_matrices(x, axes.left_batch, left_free, axes.left_summed);
  y = as_matrices(y, axes.right_batch, axes.right_summed, right_free);
  if (batch > 1) broadcast_batch(x, y);
  const Variable product = multiply(x, y, where);

  if (left_free.size() <= 1 && right_free.size() <= 1) {
    std::vector<int> kept = axes_from(0, batch);
    if (!left_free.empty()) kept.push_back(batch);
    if (!right_free.empty()) kept.push_back(batch + 1);
    return arrange(product, kept);
  }
  std::vector<Operand> shape;
  for (int axis = 0; axis < batch; ++axis) shape.emplace_back(product.shape(axis));
  for (const int axis : left_free) shape.emplace_back(left.shape(axis));
  for (const int axis : right_free) shape.emplace_back(right.shape(axis));
  return reshape(product, shape);
}

}  // namespace ops

Variable dot(Operand a, Operand b) {
  const Variable &x = a.variable, &y = b.variable;
  if (x.rank() == 0 || y.rank() == 0) return a * b;
  const Where where = line_of(a, b);
  const OriginScope origin(where);
  const int inner_x = x.rank() - 1, inner_y = std::max(0, y.rank() - 2);
  const std::string_view demand = y.rank() <= 2
                                      ? "the last axis of the left side must equal the first of the right side"
                                      : "the last axis of the left side must equal the last but one of the right side";
  const bool known = stated_size(x, inner_x) != unknown_size && stated_size(y, inner_y) != unknown_size;
  if (x.rank() == 1 && y.rank() == 1 && (!known || stated_size(x, 0) == stated_size(y, 0))) {
    const DType dtype = promote(x.dtype(), y.dtype()), compute = compute_dtype(dtype);
    Variable left = cast(cast(x, dtype), compute), right = cast(cast(y, dtype), compute);
    if (x.type().broadcasts(0) != y.type().broadcasts(0)) make_equal(left, {0}, right, {0});
    return cast(sum(left * right), dtype);
  }
  return ops::contract("dot", x, y, {{}, {}, {inner_x}, {inner_y}}, where, demand);
}

Variable matmul(Operand a, Operand b) {
  const Where where = line_of(a, b);
  const OriginScope origin(where);
  const Variable &x = a.variable, &y = b.variable;
  if (x.rank() == 0 || y.rank() == 0)
    throw_type_error("matmul", where, x, y, "a scalar is not a matrix; multiply by it with *");
  if (y.rank() <= 2) return dot(x, y);  // the axes in front are all rows of one product
  const std::int64_t inner_x = x.type().shape.back(), inner_y = y.type().shape.end()[-2];
  if (inner_x != unknown_size && inner_y != unknown_size && inner_x != inner_y) {
    throw ShapeError(fmt::format(
        "matmul ({}): {} but {}: the last axis of the left side must equal the last but one of the right side, {} is "
        "not {}",
        describe(where), describe(x), describe(y), inner_x, inner_y));
  }
  const int rank = std::max(x.rank(), y.rank());
  Variable left = padded(x, rank), right = padded(y, rank);
  broadcast_batch(left, right);
  const Variable product = multiply(left, right, where);
  if (x.rank() > 1) return product;
  std::vector<int> kept = axes_from(0, rank);
  kept.erase(kept.end() - 2);
  return dimshuffle(product, kept);
}

Variable tensordot(Operand a, Operand b, int axes) { return tensordot_of("tensordot", a, b, 0, axes); }
Variable tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes) {
  return tensordot_of("tensordot", a, b, 0, a_axes, b_axes);
}
Variable batched_tensordot(Operand a, Operand b, int axes) { return tensordot_of("batched_tensordot", a, b, 1, axes); }
Variable batched_tensordot(Operand a, Operand b, const std::vector<int>& a_axes, const std::vector<int>& b_axes) {
  return tensordot_of("batched_tensordot", a, b, 1, a_axes, b_axes);
}

Variable batched_dot(Operand a, Operand b) {
  const Variable &x = a.variable, &y = b.variable;
  if (x.rank() == 0 || y.rank() == 0)
    throw_type_error("batched_dot", line_of(a, b), x, y, "each side needs a first axis, the batch");
  if (x.rank() > 1 && y.rank() > 1)
    return tensordot_of("batched_dot", a, b, 1, {x.rank() - 1}, {std::max(1, y.rank() - 2)});
  // A scalar for each element of the batch.
  const OriginScope origin(line_of(a, b));
  std::vector<int> column(std::max(x.type().rank(), y.type().rank()), broadcast_axis);
  column[0] = 0;
  return (x.rank() == 1 ? arrange(x, column) : x) * (y.rank() == 1 ? arrange(y, column) : y);
}

Variable outer(Operand a, Operand b) {
  const OriginScope origin(line_of(a, b));
  const auto line = [](const Variable& x) { return x.rank() == 0 ? expand_dims(x, 0) : flat(x); };
  return dimshuffle(line(a.variable), {0, broadcast_axis}) * dimshuffle(line(b.variable), {broadcast_axis, 0});
}

Variable inner(Operand a, Operand b) {
  if (a.variable.rank() == 0 || b.variable.rank() == 0) return a * b;
  return tensordot_of("inner", a, b, 0, {-1}, {-1});
}

Variable vdot(Operand a, Operand b) {
  const OriginScope origin(line_of(a, b));
  const Variable left = conj(a);
  if (left.rank() == 0 && b.variable.rank() == 0) return Operand(left, a.where) * b;
  const auto line = [](const Variable& x) { return x.rank() == 0 ? expand_dims(x, 0) : flat(x); };
  return dot(line(left), line(b.variable));
}

Variable vecdot(Operand a, Operand b) {
  const Where where = line_of(a, b);
  const OriginScope origin(where);
  const Variable &x = a.variable, &y = b.variable;
  if (x.rank() == 0 || y.rank() == 0)
    throw_type_error("vecdot", where, x, y, "a scalar is not a vector; multiply by it with *");
  const std::int64_t length = x.type().shape.back(), other = y.type().shape.back();
  if (length != unknown_size && other != unknown_size && length != other)
    throw ShapeError(fmt::format("vecdot ({}): {} but {}: the last axes must be equal, {} is not {}", describe(where),
                                 describe(x), describe(y), length, other));
  const DType dtype = promote(x.dtype(), y.dtype()), compute = compute_dtype(dtype);
  Variable left = cast(cast(conj(a), dtype), compute), right = cast(cast(y, dtype), compute);
  // A stated size of 1 would broadcast against an unknown one.
  if (x.type().broadcasts(x.type().rank() - 1) != y.type().broadcasts(y.type().rank() - 1))
    make_equal(left, {x.rank() - 1}, right, {y.rank() - 1});
  return cast(sum(left * right, ReduceOptions(-1)), dtype);
}

Variable matvec(Operand matrix, Operand vector) {
  const Where where = line_of(matrix, vector);
  const OriginScope origin(where);
  const Variable &m = matrix.variable, &v = vector.variable;
  if (m.rank() < 2 || v.rank() == 0)
    throw_type_error("matvec", where, m, v, "a matrix and a vector are expected, in the last axes");
  // Many vectors with one matrix are the rows of one product.
  if (v.rank() == 1) return dot(Operand(m, where), v);
  if (m.rank() == 2) return dot(Operand(v, where), transpose(m));
  return squeeze(matmul(Operand(m, where), expand_dims(v, -1)), -1);
}

Variable vecmat(Operand vector, Operand matrix) {
  const Where where = line_of(vector, matrix);
  const OriginScope origin(where);
  const Variable &v = vector.variable, &m = matrix.variable;
  if (m.rank() < 2 || v.rank() == 0)
    throw_type_error("vecmat", where, v, m, "a vector and a matrix are expected, in the last axes");
  const Operand left(conj(vector), where);
  if (v.rank() == 1 || m.rank() == 2) return matmul(left, m);
  return squeeze(matmul(Operand(expand_dims(left, -2), where), m), -2);
}

Variable kron(Operand a, Operand b) {
  const OriginScope origin(line_of(a, b));
  const int rank = std::max(a.variable.rank(), b.variable.rank());
  const Variable x = padded(a.variable, rank), y = padded(b.variable, rank);
  std::vector<int> rows, columns;
  std::vector<Operand> shape;
  for (int axis = 0; axis < rank; ++axis) {
    rows.insert(rows.end(), {axis, broadcast_axis});
    columns.insert(columns.end(), {broadcast_axis, axis});
    const bool known = stated_size(x, axis) != unknown_size && stated_size(y, axis) != unknown_size;
    shape.push_back(known ? Operand(stated_size(x, axis) * stated_size(y, axis))
                          : Operand(x.shape(axis) * y.shape(axis)));
  }
  if (rank == 0) return x * y;
  return reshape(dimshuffle(x, rows) * dimshuffle(y, columns), shape);
}

Variable matrix_power(Operand x, int n) {
  const OriginScope origin(x.where);
  const Variable& base = x.variable;
  const auto text = [&](const std::string& message) {
    return fmt::format("matrix_power ({}): {}: {}", describe(x.where), describe(base), message);
  };
  if (base.rank() < 2) throw TypeError(text("matrices are expected, in the last two axes"));
  if (n < 0)
    throw ValueError(text(fmt::format("a power of {}; 0, 1, 2, ... are accepted: invert the matrix first", n)));
  const int rows = base.rank() - 2, columns = base.rank() - 1;
  if (stated_size(base, rows) != unknown_size && stated_size(base, columns) != unknown_size &&
      stated_size(base, rows) != stated_size(base, columns))
    throw ShapeError(text(
        fmt::format("the matrices are not square, {} is not {}", stated_size(base, rows), stated_size(base, columns))));
  std::vector<Variable> sizes(base.type().rank());
  sizes.end()[-2] = base.shape(columns);
  const Variable square = n > 1 ? base : with_sizes(base, sizes);  // products check it themselves
  if (n == 0) {
    const Variable at = arange(square.shape(columns));
    const Variable unit = eq(dimshuffle(at, {0, broadcast_axis}), dimshuffle(at, {broadcast_axis, 0}));
    std::vector<Operand> shape;
    for (int axis = 0; axis < base.rank(); ++axis) shape.emplace_back(square.shape(axis));
    return alloc(cast(unit, base.dtype()), shape);
  }
  Variable power = square, result;
  for (;; n /= 2) {
    if (n % 2 == 1) result = result.defined() ? matmul(result, power) : power;
    if (n <= 1) return result;
    power = matmul(power, power);
  }
}

}  // namespace croton
