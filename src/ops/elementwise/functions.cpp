// Less common functions of NumPy and Theano: inverse trigonometry, roots, rounding, signs, neighbours, powers of two,
// integers and logic. rows.hpp defines a row; codegen_templates/common/special.cuh has the code.
#include <croton/elementwise.hpp>

#include <fmt/format.h>

#include <bit>

#include "base/checked.hpp"
#include "base/shape.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/elementwise/rows.hpp"
#include "ops/elementwise/special_reference.hpp"

namespace croton::ops {
namespace {

// ---- types ----

/// Integers, not bool: shifts, divisors.
Types integers(DTypes t) {
  for (const DType dtype : t) {
    if (!is_discrete(dtype) || is_bool(dtype)) throw TypeError("only integers are accepted");
  }
  const DType result = promoted(t);
  if (!is_discrete(result)) throw TypeError("int64 and uint64 have no integer type in common; cast one of them");
  return {result, result};
}
Types count(DTypes t) {
  if (!is_discrete(t[0])) throw TypeError("only integers and bool are accepted");
  return {DType::uint8, t[0]};
}
/// Neighbours in the dtype in which kernels compute; croton::nextafter composes those of 16-bit floats.
Types wide_real(DTypes t) {
  const Types result = real(t);
  if (compute_dtype(result.result) != result.result)
    throw TypeError("16-bit floats are not accepted; cast them to float32 first");
  return result;
}
/// The exponent does not change the type. (Constants become floats during compilation, so croton::ldexp checks its
/// dtype.)
Types scaled(DTypes t) { return real(t.first(1)); }
Types exponent(DTypes t) { return {DType::int32, real(t).operand}; }

// ---- references ----

using Wide = long double;

template <class T>
T c_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else if constexpr (std::is_signed_v<T>) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return b == 0 ? 0 : a % b;
  }
}
/// Never called with floats, but in_own has a branch for them.
template <class T>
std::uint64_t magnitude(T x) {
  if constexpr (std::is_integral_v<T>)
    return base::magnitude(x);
  else
    return 0;
}
template <class T>
std::uint64_t common_divisor(T x, T y) {
  std::uint64_t a = magnitude(x), b = magnitude(y);
  while (b != 0) {
    const std::uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
template <class T>
std::uint64_t common_multiple(T x, T y) {
  const std::uint64_t divisor = common_divisor(x, y);
  return divisor == 0 ? 0 : magnitude(x) / divisor * magnitude(y);
}
/// Shifts depend on the width of the operands.
template <bool left>
Scalar shifted(std::span<const Scalar> x, DType result) {
  const std::int64_t by = x[1].i;
  const bool inside = by >= 0 && by < base::element_size(result) * 8;
  if (!left && !is_unsigned_int(result)) return Scalar::of_int(x[0].i >> (inside ? by : 63), DType::int64).cast(result);
  if (!inside) return Scalar::of_int(0, DType::int64).cast(result);
  const std::uint64_t value = x[0].as_unsigned();
  return Scalar::of_unsigned(left ? value << by : value >> by, DType::int64).cast(result);
}
/// The next number in the result's dtype: for float32 it is not the next double.
Scalar neighbour(std::span<const Scalar> x, DType result) {
  const double a = x[0].as_double(), b = x[1].as_double();
  if (result == DType::float32) return Scalar::of_double(std::nextafter(narrow(a), narrow(b)), result);
  return Scalar::of_double(std::nextafter(a, b), result);
}
template <class T>
T away_from_zero(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::round(x);
  else
    return x;
}
double mantissa(double x) {
  int e = 0;
  return std::frexp(x, &e);
}
int binary_exponent(double x) {
  int e = 0;
  if (std::isfinite(x)) std::frexp(x, &e);
  return e;
}
double scaled_by(double x, double n) {
  if (std::isnan(n)) return n;
  return std::ldexp(x, static_cast<int>(std::fmin(std::fmax(std::trunc(n), -5000), 5000)));
}

/// 2^63 does not fit int64.
Checked exact_shift(std::int64_t x, std::int64_t count) {
  if (x == 0 || count < 0) return 0;
  return count < 63 ? base::checked_mul(x, std::int64_t{1} << count) : Checked();
}

// ---- gradients ----

Variable scaled_by_two(const Variable& x, const Variable& exponent) {
  return builder::apply("ldexp", {x, exponent}, {}, x.where());
}
/// a / b, and 0 where b is 0.
Variable quotient_or_zero(const Variable& a, const Variable& b) {
  return croton::where(eq(b, 0), 0, a / croton::where(eq(b, 0), 1, b));
}
/// (cos(pi x) - sinc(x)) / x, the derivative of sinc; near 0, where this cancels, its power series.
Variable sinc_slope(const Variable& x) {
  // (-1)^k pi^(2 k) 2 k / (2 k + 1)!
  static constexpr double coefficients[] = {-3.289868133696453,     3.2469697011334144,    -1.1445109447325053,
                                            0.2091827825412384,     -0.023460810354558236, 0.001781145516372852,
                                            -9.766223126318933e-05, 4.049947846619244e-06, -1.3148481279991994e-07};
  const Variable z = sqr(x);
  Variable series = zeros_like(x);
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c) series = series * z + number(*c, x);
  const Variable near = croton::abs(x) < 0.25, safe = croton::where(near, 1, x);
  return croton::where(near, x * series,
                       (croton::cos(safe * number(3.141592653589793, x)) - croton::sinc(safe)) / safe);
}

// clang-format off
const std::vector<Row>& rows() {
  static const double ln2 = 0.6931471805599453, ln10 = 2.302585092994046, degree = 0.017453292519943295;
  static const std::vector<Row> table = {
      // -- inverse trigonometric and hyperbolic
      {"arcsin", 1, real, "ct::asin({0})", in_double<X(std::asin(x))>, G({g * rsqrt((1 - x) * (1 + x))}),
       "the angle whose sine is x, in radians", 20, false, {{-0.9, 0.9}}},
      {"arccos", 1, real, "ct::acos({0})", in_double<X(std::acos(x))>, G({-g * rsqrt((1 - x) * (1 + x))}),
       "the angle whose cosine is x, in radians", 20, false, {{-0.9, 0.9}}},
      {"arctan", 1, real, "ct::atan({0})", in_double<X(std::atan(x))>, G({g / (1 + sqr(x))}),
       "the angle whose tangent is x, in radians", 20},
      {"arctan2", 2, real, "ct::atan2({0}, {1})", in_double<XY(std::atan2(x, y))>,
       G({g * (Y / croton::hypot(x, Y)) / croton::hypot(x, Y), -g * (x / croton::hypot(x, Y)) / croton::hypot(x, Y)}),
       "the angle of the point (b, a)", 28},
      {"arcsinh", 1, real, "ct::asinh({0})", in_double<X(std::asinh(x))>, G({g / croton::hypot(x, 1)}),
       "the inverse hyperbolic sine", 30},
      {"arccosh", 1, real, "ct::acosh({0})", in_double<X(std::acosh(x))>, G({g * rsqrt(x - 1) * rsqrt(x + 1)}),
       "the inverse hyperbolic cosine", 30, false, {{1.1, 8}}},
      {"arctanh", 1, real, "ct::atanh({0})", in_double<X(std::atanh(x))>, G({g / ((1 - x) * (1 + x))}),
       "the inverse hyperbolic tangent", 30, false, {{-0.9, 0.9}}},
      {"deg2rad", 1, real, "ct::deg2rad({0})", in_double<X(x * 0.017453292519943295)>, G({g * number(degree, g)}),
       "degrees to radians"},
      {"rad2deg", 1, real, "ct::rad2deg({0})", in_double<X(x * 57.29577951308232)>, G({g / number(degree, g)}),
       "radians to degrees"},
      {"sinc", 1, real, "ct::sinc({0})", in_double<X(reference::sinc(x))>, G({g * sinc_slope(cast(x, g.dtype()))}),
       "sin(pi x) / (pi x), 1 at 0", 28},
      // -- roots, exponentials and logarithms
      {"cbrt", 1, real, "ct::cbrt({0})", in_double<X(static_cast<double>(std::cbrt(Wide{x})))>,
       G({g / (3 * sqr(c.output))}), "the cube root, of negative x too", 30, false, {{0.1, 8}}},
      {"hypot", 2, real, "ct::hypot({0}, {1})", in_double<XY(std::hypot(x, y))>,
       G({g * quotient_or_zero(x, c.output), g * quotient_or_zero(Y, c.output)}),
       "sqrt(a^2 + b^2) without overflow between", 16, true},
      {"exp10", 1, real, "ct::exp10({0})", in_double<X(reference::exp10(x))>, G({g * c.output * number(ln10, g)}),
       "10 to the power x", 20},
      {"log1mexp", 1, real, "ct::log1mexp({0})", in_double<X(reference::log1mexp(x))>, G({-g / croton::expm1(-x)}),
       "log(1 - exp(x)) of negative x", 40, false, {{-8, -0.01}}},
      {"logaddexp", 2, real, "ct::logaddexp({0}, {1})", in_double<XY(reference::logaddexp(x, y))>,
       G({g * croton::sigmoid(x - Y), g * croton::sigmoid(Y - x)}), "log(exp(a) + exp(b))", 30, true},
      {"logaddexp2", 2, real, "ct::logaddexp2({0}, {1})", in_double<XY(reference::logaddexp2(x, y))>,
       G({g * croton::sigmoid((x - Y) * number(ln2, g)), g * croton::sigmoid((Y - x) * number(ln2, g))}),
       "log2(2^a + 2^b)", 30, true},
      {"xlogx", 1, real, "{0} == 0 ? {T}(0) : {0} * ct::log({0})", in_double<X(x == 0 ? 0 : x * std::log(x))>,
       G({g * (1 + croton::log(x))}), "x log(x), 0 at 0", 16, false, {{0.1, 8}}},
      {"xlogy0", 2, real, "{0} == 0 ? {T}(0) : {0} * ct::log({1})", in_double<XY(x == 0 ? 0 : x * std::log(y))>,
       G({g * croton::log(Y), g * x / Y}), "a log(b), 0 where a is 0", 16, false, {{0.1, 8}, {0.1, 8}}},
      {"xlog1py", 2, real, "{0} == 0 ? {T}(0) : {0} * ct::log1p({1})", in_double<XY(x == 0 ? 0 : x * std::log1p(y))>,
       G({g * croton::log1p(Y), g * x / (1 + Y)}), "a log(1 + b), 0 where a is 0", 18, false, {{0.1, 8}, {-0.5, 8}}},
      // -- rounding and remainders
      {"round_half_away_from_zero", 1, same, "ct::round_half_away({0})", in_own<X(away_from_zero(x))>, zero,
       "the nearest integer, halves away from zero", 3},
      {"fmod", 2, same, "ct::fmod({0}, {1})", in_own<XY(c_remainder(x, y))>, G({g, -g * croton::trunc(x / Y)}),
       "the remainder, with the dividend's sign, as C's", 8, false, {{1.1, 1.9}, {0.6, 0.9}}},
      // -- signs and neighbours
      {"isfinite", 1, comparison, "ct::isfinite({0})", in_double<X(std::isfinite(x))>, zero,
       "whether x is neither infinite nor nan"},
      {"signbit", 1, comparison, "ct::signbit({0})", in_double<X(std::signbit(x))>, zero,
       "the sign bit: whether x is negative, or -0"},
      {"copysign", 2, real, "ct::copysign({0}, {1})", in_double<XY(std::copysign(x, y))>,
       G({croton::where(eq(croton::signbit(x), croton::signbit(Y)), g, -g), zeros_like(Y)}),
       "the magnitude of a with the sign of b", 2},
      {"nextafter", 2, wide_real, "ct::nextafter({0}, {1})", neighbour, G({g, zeros_like(Y)}),
       "the next number from a in the direction of b", 4},
      {"fmax", 2, same, "ct::fmax({0}, {1})", in_own<XY(y < x || y != y ? x : y)>,
       G({where_chosen(c, eq(c.output, x)), where_chosen(c, neq(c.output, x))}),
       "the larger one; the other one where one is nan", 2},
      {"fmin", 2, same, "ct::fmin({0}, {1})", in_own<XY(x < y || y != y ? x : y)>,
       G({where_chosen(c, eq(c.output, x)), where_chosen(c, neq(c.output, x))}),
       "the smaller one; the other one where one is nan", 2},
      {"heaviside", 2, real, "{0} != {0} ? {0} : {0} == 0 ? {1} : {T}({0} > 0)",
       in_double<XY(x != x ? x : x == 0 ? y : 0 < x ? 1 : 0)>, G({zeros_like(x), where_chosen(c, eq(x, 0))}),
       "0 for negative a, b at 0, 1 for positive a", 3},
      // -- powers of two
      {"ldexp", 2, scaled, "ct::ldexp({0}, {1})", in_double<XY(scaled_by(x, y))>,
       G({scaled_by_two(g, Y), zeros_like(Y)}), "a times 2 to the power b, an integer", 8},
      {"frexp_mantissa", 1, real, "ct::frexp_mantissa({0})", in_double<X(mantissa(x))>,
       G({croton::ldexp(g, -croton::frexp(x).second)}),
       "the m of x = m 2^e, of magnitude 1/2 to 1", 6, false, {{1.1, 1.9}}},
      {"frexp_exponent", 1, exponent, "ct::frexp_exponent({0})", in_double<X(binary_exponent(x))>, zero,
       "the e of x = m 2^e", 6},
      // -- whole numbers and logic
      {"left_shift", 2, integers, "ct::left_shift({0}, {1})", shifted<true>, zero,
       "a 2^b; 0 where b is not a bit of the type", 2, false, {}, fits<exact_shift>},
      {"right_shift", 2, integers, "ct::right_shift({0}, {1})", shifted<false>, zero,
       "a / 2^b rounded down; only the sign where b is not a bit of the type", 2},
      {"gcd", 2, integers, "ct::gcd({0}, {1})", in_own<XY(common_divisor(x, y))>, zero,
       "the greatest common divisor", 60, true},
      {"lcm", 2, integers, "ct::lcm({0}, {1})", in_own<XY(common_multiple(x, y))>, zero,
       "the least common multiple", 60, true},
      {"bitwise_count", 1, count, "ct::bit_count({0})", in_own<X(std::popcount(magnitude(x)))>, zero,
       "how many bits of |x| are 1", 8},
      {"logical_and", 2, comparison, "bool(({0} != 0) & ({1} != 0))", in_own<XY((x != 0) && (y != 0))>, zero,
       "whether both are not 0", 1, true},
      {"logical_or", 2, comparison, "bool(({0} != 0) | ({1} != 0))", in_own<XY((x != 0) || (y != 0))>, zero,
       "whether one is not 0", 1, true},
      {"logical_xor", 2, comparison, "({0} != 0) != ({1} != 0)", in_own<XY((x != 0) != (y != 0))>, zero,
       "whether exactly one is not 0", 1, true},
      {"logical_not", 1, comparison, "{0} == 0", in_own<X(x == 0)>, zero, "whether x is 0"},
  };
  return table;
}
// clang-format on

}  // namespace

void register_functions(Registry& registry) { register_rows(registry, rows()); }

}  // namespace croton::ops

namespace croton {
namespace {

Variable binary(std::string_view op, const Operand& a, const Operand& b) {
  return builder::apply(op, {a.variable, b.variable}, {}, a.variable.is_constant() ? b.where : a.where);
}
Variable unary(std::string_view op, const Operand& x) { return builder::apply(op, {x.variable}, {}, x.where); }
/// The operand of a logical function: for complex numbers whether they are not 0.
Operand truth(const Operand& x) { return is_complex(x.variable.dtype()) ? Operand(cast(x, DType::bool_), x.where) : x; }

}  // namespace

Variable arcsin(Operand x) { return unary("arcsin", x); }
Variable arccos(Operand x) { return unary("arccos", x); }
Variable arctan(Operand x) { return unary("arctan", x); }
Variable arctan2(Operand y, Operand x) { return binary("arctan2", y, x); }
Variable arcsinh(Operand x) { return unary("arcsinh", x); }
Variable arccosh(Operand x) { return unary("arccosh", x); }
Variable arctanh(Operand x) { return unary("arctanh", x); }
Variable deg2rad(Operand x) { return unary("deg2rad", x); }
Variable rad2deg(Operand x) { return unary("rad2deg", x); }
Variable sinc(Operand x) { return is_complex(x.variable.dtype()) ? ops::complex_sinc(x) : unary("sinc", x); }
Variable cbrt(Operand x) { return unary("cbrt", x); }
Variable hypot(Operand a, Operand b) { return binary("hypot", a, b); }
Variable exp10(Operand x) { return unary("exp10", x); }
Variable log1mexp(Operand x) { return unary("log1mexp", x); }
Variable logaddexp(Operand a, Operand b) { return binary("logaddexp", a, b); }
Variable logaddexp2(Operand a, Operand b) { return binary("logaddexp2", a, b); }
Variable xlogx(Operand x) { return unary("xlogx", x); }
Variable xlogy0(Operand a, Operand b) { return binary("xlogy0", a, b); }
Variable xlog1py(Operand a, Operand b) { return binary("xlog1py", a, b); }
Variable round_half_away_from_zero(Operand x) { return unary("round_half_away_from_zero", x); }
Variable fmod(Operand a, Operand b) { return binary("fmod", a, b); }
Variable isfinite(Operand x) { return unary("isfinite", x); }
Variable signbit(Operand x) { return unary("signbit", x); }
Variable copysign(Operand a, Operand b) { return binary("copysign", a, b); }
Variable nextafter(Operand a, Operand b) {
  const DType dtype = promote(a.variable.dtype(), b.variable.dtype());
  return is_float(dtype) && compute_dtype(dtype) != dtype ? ops::narrow_neighbour(a, b, dtype)
                                                          : binary("nextafter", a, b);
}
Variable fmax(Operand a, Operand b) { return binary("fmax", a, b); }
Variable fmin(Operand a, Operand b) { return binary("fmin", a, b); }
Variable heaviside(Operand x, Operand at_zero) { return binary("heaviside", x, at_zero); }
Variable ldexp(Operand x, Operand exponent) {
  if (!is_discrete(exponent.variable.dtype()))
    throw TypeError(fmt::format("ldexp ({}): {}: the exponent must be an integer", builder::describe(x.where),
                                builder::describe(exponent.variable)));
  return binary("ldexp", x, exponent);
}
std::pair<Variable, Variable> frexp(Operand x) { return {unary("frexp_mantissa", x), unary("frexp_exponent", x)}; }
Variable left_shift(Operand a, Operand b) { return ops::integer_op("left_shift", a, b); }
Variable right_shift(Operand a, Operand b) { return ops::integer_op("right_shift", a, b); }
Variable gcd(Operand a, Operand b) { return ops::integer_op("gcd", a, b); }
Variable lcm(Operand a, Operand b) { return ops::integer_op("lcm", a, b); }
Variable bitwise_count(Operand x) { return unary("bitwise_count", x); }
Variable logical_and(Operand a, Operand b) { return binary("logical_and", truth(a), truth(b)); }
Variable logical_or(Operand a, Operand b) { return binary("logical_or", truth(a), truth(b)); }
Variable logical_xor(Operand a, Operand b) { return binary("logical_xor", truth(a), truth(b)); }
Variable logical_not(Operand x) { return unary("logical_not", truth(x)); }

}  // namespace croton
