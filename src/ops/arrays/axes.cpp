// Axes added, dropped, moved and stated: dimshuffles and shapes by other names.
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "ops/parts.hpp"
#include "ops/registry.hpp"

namespace croton::ops {

Variable stated(const Variable& x, const std::vector<std::optional<Operand>>& shape, std::string_view why) {
  std::vector<Variable> inputs{x};
  expr::Ints axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis]) continue;
    demand_whole("specify_shape", x, "a size", *shape[axis]);
    inputs.push_back(shape[axis]->variable);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (axes.empty()) return x;
  return builder::apply("specify_shape", inputs, {{"axes", axes}, {"why", std::string(why)}}, x.where());
}

}  // namespace croton::ops

namespace croton {
namespace {

using builder::describe;
using ops::normal_axes;

std::vector<int> in_order(int rank) {
  std::vector<int> pattern(static_cast<std::size_t>(rank));
  std::iota(pattern.begin(), pattern.end(), 0);
  return pattern;
}

}  // namespace

Variable expand_dims(Operand x, const std::vector<int>& axes) {
  const int rank = x.variable.rank() + static_cast<int>(axes.size());
  std::vector<int> pattern = in_order(x.variable.rank());
  for (const std::int64_t axis : normal_axes(axes, rank, "expand_dims", x))
    pattern.insert(pattern.begin() + axis, broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable expand_dims(Operand x, int axis) { return expand_dims(x, std::vector<int>{axis}); }

Variable squeeze(Operand x, const std::vector<int>& axes) {
  std::vector<int> pattern = in_order(x.variable.rank());
  for (const std::int64_t axis : normal_axes(axes, x.variable.rank(), "squeeze", x)) {
    if (!x.variable.type().broadcasts(static_cast<std::size_t>(axis))) {
      throw TypeError(fmt::format("squeeze ({}): {}: axis {} is not of the stated size 1", describe(x.where),
                                  describe(x.variable), axis));
    }
    std::erase(pattern, static_cast<int>(axis));
  }
  return dimshuffle(x, pattern);
}
Variable squeeze(Operand x, int axis) { return squeeze(x, std::vector<int>{axis}); }
Variable squeeze(Operand x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.variable.rank(); ++axis) {
    if (x.variable.type().broadcasts(static_cast<std::size_t>(axis))) axes.push_back(axis);
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
  normal_axes(from, rank, "moveaxis", x);  // for its errors: the order of both counts
  normal_axes(to, rank, "moveaxis", x);
  const auto normal = [&](int axis) { return axis < 0 ? axis + rank : axis; };
  std::vector<int> order(static_cast<std::size_t>(rank), -1), rest = in_order(rank);
  for (std::size_t i = 0; i < from.size(); ++i) {
    order[static_cast<std::size_t>(normal(to[i]))] = normal(from[i]);
    std::erase(rest, normal(from[i]));
  }
  auto next = rest.begin();
  for (int& axis : order) axis = axis < 0 ? *next++ : axis;
  return rank == 0 ? x.variable : transpose(x, order);
}

Variable swapaxes(Operand x, int a, int b) {
  const int rank = x.variable.rank();
  std::vector<int> order = in_order(rank);
  const auto first = static_cast<std::size_t>(normal_axes({a}, rank, "swapaxes", x)[0]);
  const auto second = static_cast<std::size_t>(normal_axes({b}, rank, "swapaxes", x)[0]);
  std::swap(order[first], order[second]);
  return transpose(x, order);
}

Variable shape_padleft(Operand x, int n) {
  std::vector<int> pattern = in_order(x.variable.rank());
  pattern.insert(pattern.begin(), static_cast<std::size_t>(std::max(n, 0)), broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable shape_padright(Operand x, int n) {
  std::vector<int> pattern = in_order(x.variable.rank());
  pattern.insert(pattern.end(), static_cast<std::size_t>(std::max(n, 0)), broadcast_axis);
  return dimshuffle(x, pattern);
}
Variable shape_padaxis(Operand x, int axis) { return expand_dims(x, axis); }

Variable broadcast_to(Operand x, const std::vector<Operand>& shape) { return alloc(x, shape); }

Variable specify_shape(Operand x, const std::vector<std::optional<Operand>>& shape) {
  const builder::OriginScope origin(x.where);
  if (static_cast<int>(shape.size()) != x.variable.rank()) {
    throw TypeError(fmt::format("specify_shape ({}): {}: {} sizes, where each of its {} axes has one",
                                describe(x.where), describe(x.variable), shape.size(), x.variable.rank()));
  }
  for (const std::optional<Operand>& size : shape) {
    if (size) ops::take_line(*size, x.where);
  }
  return ops::stated(x.variable, shape, "the size that was stated must be the size that is there");
}

Variable addbroadcast(Operand x, const std::vector<int>& axes) {
  const builder::OriginScope origin(x.where);
  std::vector<std::optional<Operand>> shape(static_cast<std::size_t>(x.variable.rank()));
  for (const std::int64_t axis : normal_axes(axes, x.variable.rank(), "addbroadcast", x))
    shape[static_cast<std::size_t>(axis)] = Operand(1);
  return ops::stated(x.variable, shape, "an axis that broadcasts must have size 1");
}

Variable unbroadcast(Operand x, const std::vector<int>& axes) {
  const builder::OriginScope origin(x.where);
  bool changes = false;
  std::vector<Operand> sizes;
  for (const Variable& size : x.variable.shape()) sizes.emplace_back(size);
  for (const std::int64_t axis : normal_axes(axes, x.variable.rank(), "unbroadcast", x)) {
    if (!x.variable.type().broadcasts(static_cast<std::size_t>(axis))) continue;
    // A size that is computed, so that the type does not state it; rewriting finds that it is 1.
    sizes[static_cast<std::size_t>(axis)] = maximum(Operand(1), Operand(1));
    changes = true;
  }
  return changes ? reshape(x, sizes) : x.variable;
}

Variable patternbroadcast(Operand x, const std::vector<bool>& broadcastable) {
  if (static_cast<int>(broadcastable.size()) != x.variable.rank()) {
    throw TypeError(fmt::format("patternbroadcast ({}): {}: a pattern of {} axes, where there are {}",
                                describe(x.where), describe(x.variable), broadcastable.size(), x.variable.rank()));
  }
  std::vector<int> axes, others;
  for (std::size_t axis = 0; axis < broadcastable.size(); ++axis)
    (broadcastable[axis] ? axes : others).push_back(static_cast<int>(axis));
  return addbroadcast(Operand(unbroadcast(x, others), x.where), axes);
}

// ---- filled arrays ----

Variable full(const std::vector<Operand>& shape, Operand value, std::optional<DType> dtype) {
  const builder::OriginScope origin(value.where);
  return alloc(dtype ? cast(value, *dtype) : value.variable, shape);
}
Variable full_like(Operand x, Operand value, std::optional<DType> dtype) {
  const builder::OriginScope origin(x.where);
  std::vector<Operand> shape;
  for (const Variable& size : x.variable.shape()) shape.emplace_back(size);
  return full(shape, value, dtype.value_or(x.variable.dtype()));
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
