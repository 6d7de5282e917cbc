// Functions that add, drop, move or state axes, composed of dimshuffle and specify_shape; filled arrays.
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "expr/axes.hpp"
#include "ops/arrays/parts.hpp"
#include "ops/axes.hpp"
#include "ops/registry.hpp"

namespace croton {
namespace {

using builder::describe;
using ops::normal_axes;
using ops::normal_axis;

std::vector<int> in_order(int rank) { return expr::axes_from(0, rank); }

}  // namespace

Variable expand_dims(Operand x, const std::vector<int>& axes) {
  const int rank = x.variable.rank() + base::to_int(axes.size());
  std::vector<int> pattern = in_order(x.variable.rank());
  for (const int axis : normal_axes(axes, rank, "expand_dims", x))
    pattern.insert(pattern.begin() + axis, broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable expand_dims(Operand x, int axis) { return expand_dims(x, std::vector<int>{axis}); }

Variable squeeze(Operand x, const std::vector<int>& axes) {
  std::vector<int> pattern = in_order(x.variable.rank());
  for (const int axis : normal_axes(axes, x.variable.rank(), "squeeze", x)) {
    if (!x.variable.type().broadcasts(axis)) {
      throw TypeError(fmt::format("squeeze ({}): {}: axis {} is not of the stated size 1", describe(x.where),
                                  describe(x.variable), axis));
    }
    std::erase(pattern, axis);
  }
  return dimshuffle(x, pattern);
}
Variable squeeze(Operand x, int axis) { return squeeze(x, std::vector<int>{axis}); }
Variable squeeze(Operand x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.variable.rank(); ++axis) {
    if (x.variable.type().broadcasts(axis)) axes.push_back(axis);
  }
  return squeeze(x, axes);
}

Variable atleast_Nd(Operand x, int n, bool left) {
  const int missing = std::max(0, n - x.variable.rank());
  return left ? shape_padleft(x, missing) : shape_padright(x, missing);
}
Variable atleast_1d(Operand x) { return atleast_Nd(x, 1); }
Variable atleast_2d(Operand x) { return atleast_Nd(x, 2); }
Variable atleast_3d(Operand x) { return atleast_Nd(x, 3); }

Variable moveaxis(Operand x, const std::vector<int>& from, const std::vector<int>& to) {
  const int rank = x.variable.rank();
  if (from.size() != to.size()) {
    throw ValueError(fmt::format("moveaxis ({}): {}: {} axes to {} positions; as many are needed", describe(x.where),
                                 describe(x.variable), from.size(), to.size()));
  }
  normal_axes(from, rank, "moveaxis", x);  // for its errors only: the axes must keep their order
  normal_axes(to, rank, "moveaxis", x);
  const auto normal = [&](int axis) { return axis < 0 ? axis + rank : axis; };
  std::vector<int> order(x.variable.type().rank(), -1), rest = in_order(rank);
  for (std::size_t i = 0; i < from.size(); ++i) {
    base::nth(order, normal(to[i])) = normal(from[i]);
    std::erase(rest, normal(from[i]));
  }
  auto next = rest.begin();
  for (int& axis : order) axis = axis < 0 ? *next++ : axis;
  return rank == 0 ? x.variable : transpose(x, order);
}

Variable swapaxes(Operand x, int a, int b) {
  const int rank = x.variable.rank();
  std::vector<int> order = in_order(rank);
  const int first = normal_axis(a, rank, "swapaxes", x), second = normal_axis(b, rank, "swapaxes", x);
  std::swap(base::nth(order, first), base::nth(order, second));
  return transpose(x, order);
}

Variable shape_padleft(Operand x, int n) {
  std::vector<int> pattern = in_order(x.variable.rank());
  pattern.insert(pattern.begin(), base::to_size(std::max(n, 0)), broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable shape_padright(Operand x, int n) {
  std::vector<int> pattern = in_order(x.variable.rank());
  pattern.insert(pattern.end(), base::to_size(std::max(n, 0)), broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable shape_padaxis(Operand x, int axis) { return expand_dims(x, axis); }

Variable broadcast_to(Operand x, const std::vector<Operand>& shape) { return alloc(x, shape); }

Variable specify_shape(Operand x, const std::vector<std::optional<Operand>>& shape) {
  const builder::OriginScope origin(x.where);
  if (shape.size() != x.variable.type().rank()) {
    throw TypeError(fmt::format("specify_shape ({}): {}: {} sizes, where each of its {} axes has one",
                                describe(x.where), describe(x.variable), shape.size(), x.variable.rank()));
  }
  for (const std::optional<Operand>& size : shape) {
    if (size) ops::replace_line(*size, x.where);
  }
  return ops::require_shape(x.variable, shape, "the stated size must be the actual size");
}

Variable addbroadcast(Operand x, const std::vector<int>& axes) {
  const builder::OriginScope origin(x.where);
  std::vector<std::optional<Operand>> shape(x.variable.type().rank());
  for (const int axis : normal_axes(axes, x.variable.rank(), "addbroadcast", x)) base::nth(shape, axis) = Operand(1);
  return ops::require_shape(x.variable, shape, "an axis that broadcasts must have size 1");
}

Variable unbroadcast(Operand x, const std::vector<int>& axes) {
  const builder::OriginScope origin(x.where);
  bool changes = false;
  std::vector<Operand> sizes = builder::shape_of(x.variable);
  for (const int axis : normal_axes(axes, x.variable.rank(), "unbroadcast", x)) {
    if (!x.variable.type().broadcasts(axis)) continue;
    // A computed size, so that the type does not state it; rewriting finds that it is 1.
    base::nth(sizes, axis) = maximum(Operand(1), Operand(1));
    changes = true;
  }
  return changes ? reshape(x, sizes) : x.variable;
}

Variable patternbroadcast(Operand x, const std::vector<bool>& broadcastable) {
  if (broadcastable.size() != x.variable.type().rank()) {
    throw TypeError(fmt::format("patternbroadcast ({}): {}: a pattern of {} axes, where there are {}",
                                describe(x.where), describe(x.variable), broadcastable.size(), x.variable.rank()));
  }
  std::vector<int> axes, others;
  for (int axis = 0; axis < x.variable.rank(); ++axis) (base::nth(broadcastable, axis) ? axes : others).push_back(axis);
  return addbroadcast(Operand(unbroadcast(x, others), x.where), axes);
}

// ---- filled arrays ----

Variable full(const std::vector<Operand>& shape, Operand value, std::optional<DType> dtype) {
  const builder::OriginScope origin(value.where);
  return alloc(dtype ? cast(value, *dtype) : value.variable, shape);
}
Variable full_like(Operand x, Operand value, std::optional<DType> dtype) {
  const builder::OriginScope origin(x.where);
  return full(builder::shape_of(x.variable), value, dtype.value_or(x.variable.dtype()));
}
Variable zeros_like(Operand x) {
  return full_like(x, Operand(builder::scalar_constant(0, x.variable.dtype(), x.where), x.where));
}
Variable ones_like(Operand x) {
  return full_like(x, Operand(builder::scalar_constant(1, x.variable.dtype(), x.where), x.where));
}
Variable empty(const std::vector<Operand>& shape, std::optional<DType> dtype, Where where) {
  return zeros(shape, dtype, where);
}
Variable empty_like(Operand x) { return zeros_like(x); }

}  // namespace croton
