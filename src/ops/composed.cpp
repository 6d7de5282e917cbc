// Elementwise functions that are a few others: what they are made of is charged to the caller's line.
#include <croton/elementwise.hpp>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "ops/parts.hpp"

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

Variable float_power(Operand a, Operand b) {
  const OriginScope origin(a.where);
  return pow(cast(a, DType::float64), cast(b, DType::float64));
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
  std::vector<Operand> shape;
  for (const Variable& size : a.variable.shape()) shape.emplace_back(size);
  return alloc(b, shape);
}

}  // namespace croton
