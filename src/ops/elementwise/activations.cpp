// Activations, composed of elementwise ops, which fuse into one kernel.
#include <croton/activations.hpp>
#include <croton/error.hpp>
#include <croton/grad.hpp>
#include <croton/nnet.hpp>
#include <croton/sorting.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "ops/axes.hpp"
#include "ops/custom_gradient.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/registry.hpp"

namespace croton::nnet {
namespace {

using builder::number;
using ops::in_floats;

/// The part below 0: expressions of it cannot overflow where the other branch is chosen.
Variable below_zero(const Variable& x) { return minimum(x, 0); }

}  // namespace

Variable linear(Operand x) { return x.variable; }

Variable leaky_relu(Operand x, double negative_slope) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return where(v > 0, v, number(negative_slope, v) * v); });
}

Variable prelu(Operand x, Operand slope) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  return where(v > 0, v, slope * v);
}

Variable relu6(Operand x) {
  const builder::OriginScope origin(x.where);
  return clip(in_floats(x), 0, 6);
}

Variable elu(Operand x, double alpha) {
  return ops::in_one_rounding(
      x, [&](const Variable& v) { return where(v > 0, v, number(alpha, v) * expm1(below_zero(v))); });
}

Variable selu(Operand x) {
  return ops::in_one_rounding(x, [](const Variable& given) {
    const Variable v = elu(given, 1.6732632423543772);
    return number(1.0507009873554805, v) * v;
  });
}

Variable celu(Operand x, double alpha) {
  return ops::in_one_rounding(x, [&](const Variable& v) {
    return where(v > 0, v, number(alpha, v) * expm1(below_zero(v) / number(alpha, v)));
  });
}

Variable gelu(Operand x, bool approximate) {
  return ops::in_one_rounding(x, [&](const Variable& v) {
    // erfc, not 1 + erf: exact far below 0.
    if (!approximate) return number(0.5, v) * v * erfc(v * number(-std::numbers::sqrt2 / 2, v));
    // 0.5 (1 + tanh(u)) is sigmoid(2 u), which is exact far below 0. The result is 0 or 1 long before the cube, and so
    // the derivative, overflows.
    const Variable near = clip(v, -100, 100), scale = number(2 * std::sqrt(2 / std::numbers::pi), v);
    return v * croton::sigmoid(scale * near * (1 + number(0.044715, v) * sqr(near)));
  });
}

Variable silu(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return v * croton::sigmoid(v); });
}
Variable swish(Operand x) { return silu(x); }

Variable mish(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return v * tanh(croton::softplus(v)); });
}

namespace {

Variable softsign_of(const Variable& v, Where where) {
  const Variable result = v / (1 + abs(v));
  if (is_complex(v.dtype())) return result;
  // 1 / (1 + |x|)^2: the derivative of the quotient would be a difference that cancels for large x.
  static const auto carrier = ops::gradient_carrier(
      [](const std::vector<Variable>& inputs, const std::vector<Variable>&, const std::vector<Variable>& gradients) {
        return std::vector<Variable>{gradients[0] * sqr(reciprocal(1 + abs(inputs[0])))};
      },
      "softsign");
  return ops::with_gradient({result}, {v}, carrier, where)[0];
}

}  // namespace

Variable softsign(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return softsign_of(v, x.where); });
}

Variable hard_sigmoid(Operand x, double slope, double shift) {
  return ops::in_one_rounding(x,
                              [&](const Variable& v) { return clip(number(slope, v) * v + number(shift, v), 0, 1); });
}

Variable ultra_fast_sigmoid(Operand x) {
  // Three pieces in |x| / 2: a hyperbola, a line, a constant.
  return ops::in_one_rounding(x, [&](const Variable& v) {
    const Variable half = number(0.5, v) * abs(v);
    const Variable near = number(1.5, v) * half / (1 + half);
    const Variable middle = number(0.935409070603099, v) + number(0.0458812946797165, v) * (half - number(1.7, v));
    const Variable z = where(half < number(1.7, v), near, where(half < 3, middle, number(0.99505475368673, v)));
    return number(0.5, v) * (where(v < 0, -z, z) + 1);
  });
}

Variable hard_silu(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return v * relu6(v + 3) / 6; });
}
Variable hard_swish(Operand x) { return hard_silu(x); }

Variable hard_tanh(Operand x) {
  const builder::OriginScope origin(x.where);
  return clip(in_floats(x), -1, 1);
}

Variable log_sigmoid(Operand x) {
  const builder::OriginScope origin(x.where);
  return -croton::softplus(-in_floats(x));
}

Variable exponential(Operand x) { return exp(x); }

Variable squareplus(Operand x, double b) {
  return ops::in_one_rounding(x, [&](const Variable& v) {
    const Variable far = number(1e9, v);
    // For large |x| the root is |x|, and the square overflows.
    const Variable root = maximum(abs(v), sqrt(sqr(clip(v, -far, far)) + number(b, v)));
    // Below 0 the sum cancels; b / (root - x) / 2 is equal to it.
    return where(v > 0, number(0.5, v) * (v + root), number(0.5 * b, v) / (root - below_zero(v)));
  });
}

Variable tanh_shrink(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return v - tanh(v); });
}

Variable soft_shrink(Operand x, double threshold) {
  return ops::in_one_rounding(x, [&](const Variable& v) {
    const Variable t = number(threshold, v);
    return where(v > t, v - t, where(v < -t, v + t, zeros_like(v)));
  });
}

Variable hard_shrink(Operand x, double threshold) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  return where(abs(v) > number(threshold, v), v, zeros_like(v));
}

Variable threshold(Operand x, double threshold, double value) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  return where(v > number(threshold, v), v, number(value, v));
}

Variable sparse_plus(Operand x) {
  return ops::in_one_rounding(
      x, [&](const Variable& v) { return where(v > 1, v, number(0.25, v) * sqr(clip(v, -1, 1) + 1)); });
}

Variable sparse_sigmoid(Operand x) {
  return ops::in_one_rounding(x, [&](const Variable& v) { return clip(number(0.5, v) * (v + 1), 0, 1); });
}

Variable softmin(Operand x, int axis) {
  const builder::OriginScope origin(x.where);
  return softmax(-in_floats(x), axis);
}

Variable sparsemax(Operand x, int axis) {
  const builder::OriginScope origin(x.where);
  ops::demand_real(x, "sparsemax");
  const Variable given = in_floats(x);
  const int at = ops::normal_axis(axis, given.rank(), "sparsemax", x);
  const ReduceOptions along(std::vector<int>{at}, true);
  const Variable v = ops::widened(given);
  // The largest element is at most 1 above tau, so elements more than 1 below the largest are not in the sum. The
  // selection is not differentiated: it is constant near x.
  const Variable top = builder::apply("max_or_lowest", {v}, {{"axes", expr::Ints{at}}}, x.where);
  const Variable z = v - disconnected_grad(expand_dims(top, at));
  const Variable falling = -sort(-maximum(disconnected_grad(z), -1), at);
  const Variable count = cast(ops::along_axis(arange(v.shape(at)) + 1, at, v.rank()), v.dtype());
  const Variable taken = cast(1 + count * falling > cumsum(falling, at), v.dtype());
  const Variable first = (sum(taken * falling, along) - 1) / sum(taken, along);
  // nan counts as above, and stays in the result.
  const Variable above = ~(z <= first);
  const Variable tau = (sum(where(above, z, 0), along) - 1) / sum(cast(above, v.dtype()), along);
  return ops::narrowed(where(above, z - tau, 0), given.dtype());
}

Variable glu(Operand x, int axis) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  const int at = ops::normal_axis(axis, v.rank(), "glu", x);
  const std::int64_t size = base::nth(v.type().shape, at);
  if (size != unknown_size && size % 2 != 0) {
    throw ShapeError(fmt::format("glu ({}): {}: axis {} has {} elements, which has no halves",
                                 builder::describe(x.where), builder::describe(x.variable), at, size));
  }
  const Variable half = floor_divide(v.shape(at), 2);
  std::vector<SliceSpec> first(base::to_size(at), slice()), second = first;
  first.push_back(slice({}, half));
  second.push_back(slice(half, {}));
  return ops::in_one_rounding(v.at(first), v.at(second), [](const Variable& passed, const Variable& gate) {
    return passed * croton::sigmoid(gate);
  });
}

}  // namespace croton::nnet
