// Elementwise functions composed of others, whose nodes get the caller's line.
#include <croton/elementwise.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "ops/custom_gradient.hpp"
#include "ops/elementwise/composed.hpp"

namespace croton {
namespace {

using builder::number;
using builder::OriginScope;

Variable as_float(const Variable& x) {
  const DType dtype = x.dtype();
  return is_discrete(dtype) ? cast(x, size_of(dtype) <= 2 ? DType::float32 : DType::float64) : x;
}

double largest(DType dtype) {
  return dtype == DType::float16    ? 65504
         : dtype == DType::bfloat16 ? 3.3895313892515355e38
         : dtype == DType::float32  ? std::numeric_limits<float>::max()
                                    : std::numeric_limits<double>::max();
}

}  // namespace

Variable ops::in_floats(const Operand& x) {
  return is_discrete(x.variable.dtype()) ? cast(x, base::config().float_x()) : x.variable;
}

void ops::demand_real(const Operand& x, std::string_view op) {
  if (is_complex(x.variable.dtype()))
    throw TypeError(fmt::format("{} ({}): {}: floats are accepted, not complex numbers; take real, imag or abs of them",
                                op, builder::describe(x.where), builder::describe(x.variable)));
}

Variable ops::integer_op(std::string_view op, const Operand& a, const Operand& b) {
  const Where where = a.variable.is_constant() ? b.where : a.where;
  const auto converted = [&](const Variable& x, const Variable& other) {
    const bool number = x.is_constant() && x.rank() == 0 && is_discrete(x.dtype()) && x.node()->value.as_double(0) >= 0;
    return number && other.dtype() == DType::uint64 ? cast(Operand(x, where), DType::uint64) : x;
  };
  return builder::apply(op, {converted(a.variable, b.variable), converted(b.variable, a.variable)}, {}, where);
}

Variable ops::complex_sinc(const Operand& z) {
  const OriginScope origin(z.where);
  // Near 0 the power series, whose derivatives do not cancel: (-1)^k pi^(2 k) / (2 k + 1)!
  static constexpr double coefficients[] = {1,
                                            -1.6449340668482264,
                                            0.8117424252833536,
                                            -0.19075182412208422,
                                            0.0261478478176548,
                                            -0.0023460810354558235,
                                            0.000148428793031071,
                                            -6.975873661656381e-06,
                                            2.5312174041370274e-07};
  const Variable near = abs(z) < 0.25, v = where(near, 1, z), square = sqr(where(near, z, 0));
  Variable series = zeros_like(v);
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c)
    series = series * square + number(*c, series);
  const Variable angle = number(std::numbers::pi, v) * v;
  return where(near, series, sin(angle) / angle);
}

namespace {

/// The numbers of a 16-bit float, in float32.
struct Grid {
  int digits, lowest;  // the exponent of the least normal number
  double top;

  explicit Grid(DType dtype)
      : digits(dtype == DType::float16 ? 11 : 8), lowest(dtype == DType::float16 ? -13 : -125), top(largest(dtype)) {}
  /// The exponent of the last place of x, which is not 0.
  Variable last_place(const Variable& x) const { return maximum(frexp(x).second, lowest) - digits; }
  Variable step(const Variable& x) const { return ldexp(ones_like(x), last_place(x)); }
};

bool is_narrow(DType dtype) { return is_float(dtype) && compute_dtype(dtype) != dtype; }

Variable narrow_spacing(const Variable& given) {
  const Grid grid(given.dtype());
  const Variable x = cast(given, DType::float32), step = grid.step(x);
  const double infinity = std::numeric_limits<double>::infinity();
  const Variable outwards = where(abs(x) >= number(grid.top, x), number(infinity, x), step);
  const double least = std::ldexp(1.0, grid.lowest - grid.digits);
  const Variable signed_step = where(eq(x, 0), number(least, x), copysign(outwards, x));
  return cast(where(isfinite(x), signed_step, number(std::nan(""), x)), given.dtype());
}

}  // namespace

Variable ops::narrow_neighbour(const Operand& a, const Operand& b, DType dtype) {
  const Where where_made = a.variable.is_constant() ? b.where : a.where;
  const OriginScope origin(where_made);
  const Grid grid(dtype);
  const Variable from = cast(a, dtype), to = cast(b, dtype);
  const Variable x = cast(from, DType::float32), y = cast(to, DType::float32);
  // The float32 neighbour in the direction of y has the exponent whose last place is the step.
  const Variable neighbour = nextafter(x, y), moved = x + copysign(grid.step(neighbour), y - x);
  // The neighbour of 0 has y's sign; the neighbour of another number keeps its sign. The neighbour of infinity is the
  // largest number.
  const Variable next = where(eq(x, 0), moved, copysign(moved, x));
  const Variable finite = where(isinf(x), copysign(number(grid.top, x), x), next);
  const Variable result = cast(where(eq(x, y), y, where(isnan(neighbour), neighbour, finite)), dtype);
  const auto carrier = gradient_carrier(
      [](const std::vector<Variable>&, const std::vector<Variable>&, const std::vector<Variable>& gradients) {
        return std::vector<Variable>{gradients[0], zeros_like(gradients[0])};
      },
      "nextafter");
  return with_gradient({result}, {from, to}, carrier, where_made)[0];
}

Variable spacing(Operand x) {
  const OriginScope origin(x.where);
  const Variable v = as_float(x.variable);
  if (is_narrow(v.dtype())) return narrow_spacing(v);
  const double infinity = std::numeric_limits<double>::infinity();
  return nextafter(v, where(v < 0, number(-infinity, v), number(infinity, v))) - v;
}

Variable fabs(Operand x) {
  const OriginScope origin(x.where);
  ops::demand_real(x, "fabs");
  return abs(as_float(x.variable));
}

Variable float_power(Operand a, Operand b) {
  const OriginScope origin(a.where);
  const bool complex = is_complex(a.variable.dtype()) || is_complex(b.variable.dtype());
  const DType wide = complex ? DType::complex128 : DType::float64;
  return pow(cast(a, wide), cast(b, wide));
}

Variable round(Operand x, Rounding mode) {
  return mode == Rounding::half_to_even ? round(x) : round_half_away_from_zero(x);
}
Variable round(Operand x, int decimals) {
  const OriginScope origin(x.where);
  if (is_complex(x.variable.dtype()))
    return ops::of_parts(x.variable, [&](const Variable& part) { return round(part, decimals); });
  if (decimals == 0 || (is_discrete(x.variable.dtype()) && decimals > 0)) return round(x);
  const Variable scale = number(std::pow(10.0, std::abs(decimals)), as_float(x.variable));
  if (decimals > 0) return round(x * scale) / scale;
  return cast(round(as_float(x.variable) / scale) * scale, x.variable.dtype());
}
Variable iround(Operand x, Rounding mode) {
  const OriginScope origin(x.where);
  return cast(round(x, mode), DType::int64);
}

std::pair<Variable, Variable> divmod(Operand a, Operand b) { return {floor_divide(a, b), a % b}; }
std::pair<Variable, Variable> modf(Operand x) {
  const OriginScope origin(x.where);
  const Variable value = as_float(x.variable), whole = trunc(value);
  return {copysign(where(isinf(value), 0, value - whole), value), whole};
}

Variable isposinf(Operand x) {
  const OriginScope origin(x.where);
  return isinf(x) & (x > 0);
}
Variable isneginf(Operand x) {
  const OriginScope origin(x.where);
  return isinf(x) & (x < 0);
}

Variable nan_to_num(Operand x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  const OriginScope origin(x.where);
  const Variable& v = x.variable;
  if (is_discrete(v.dtype())) return v;
  if (is_complex(v.dtype()))
    return ops::of_parts(v, [&](const Variable& part) { return nan_to_num(part, nan, posinf, neginf); });
  const double top = largest(v.dtype());
  const Variable infinite = where(v > 0, number(posinf.value_or(top), v), number(neginf.value_or(-top), v));
  return where(isnan(v), number(nan, v), where(isinf(v), infinite, v));
}

Variable isclose(Operand a, Operand b, double rtol, double atol, bool equal_nan) {
  const OriginScope origin(a.where);
  const Variable x = as_float(a.variable), y = as_float(b.variable);
  const Variable distance = abs(x - y);
  const Variable bound = number(atol, distance) + number(rtol, distance) * abs(y);
  const Variable close = ((distance <= bound) & isfinite(y)) | eq(x, y);
  return equal_nan ? close | (isnan(x) & isnan(y)) : close;
}
Variable allclose(Operand a, Operand b, double rtol, double atol, bool equal_nan) {
  const OriginScope origin(a.where);
  return all(isclose(a, b, rtol, atol, equal_nan));
}

Variable fill(Operand a, Operand b) {
  const OriginScope origin(a.where);
  return alloc(b, builder::shape_of(a.variable));
}

}  // namespace croton
