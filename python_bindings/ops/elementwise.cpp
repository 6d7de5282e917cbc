// The functions of <croton/elementwise.hpp>. tensor.py has a few more names, for Python's operators.
#include <croton/elementwise.hpp>

#include <optional>
#include <utility>

#include "core/bindings.hpp"
#include "core/operands.hpp"
#include "ops/rows.hpp"

namespace croton::python {
namespace {

constexpr UnaryRow unary_rows[] = {
    {"arcsin", &arcsin, "The angle whose sine is x, in radians; nan outside of [-1, 1]."},
    {"arccos", &arccos, "The angle whose cosine is x, in radians; nan outside of [-1, 1]."},
    {"asin", &asin, "The angle whose sine is x, in radians; nan outside of [-1, 1]."},
    {"acos", &acos, "The angle whose cosine is x, in radians; nan outside of [-1, 1]."},
    {"atan", &atan, "The angle whose tangent is x, in radians."},
    {"asinh", &asinh, "The inverse hyperbolic sine."},
    {"acosh", &acosh, "The inverse hyperbolic cosine; nan below 1."},
    {"atanh", &atanh, "The inverse hyperbolic tangent; nan outside of [-1, 1]."},
    {"fabs", &fabs, "The absolute value as a float. TypeError for complex numbers."},
    {"spacing", &spacing, "The distance from x to its next neighbour of larger magnitude, with the sign of x."},
    {"bitwise_invert", &bitwise_invert, "The bitwise not of integers, the logical not of bool."},
    {"arctan", &arctan, "The angle whose tangent is x, in radians."},
    {"arcsinh", &arcsinh, "The inverse hyperbolic sine."},
    {"arccosh", &arccosh, "The inverse hyperbolic cosine; nan below 1."},
    {"arctanh", &arctanh, "The inverse hyperbolic tangent; nan outside of [-1, 1]."},
    {"deg2rad", &deg2rad, "x pi / 180."},
    {"radians", &radians, "x pi / 180."},
    {"rad2deg", &rad2deg, "x 180 / pi."},
    {"degrees", &degrees, "x 180 / pi."},
    {"sinc", &sinc, "sin(pi x) / (pi x), 1 at 0; also for complex numbers."},
    {"cbrt", &cbrt, "The real cube root."},
    {"exp10", &exp10, "10 to the power x."},
    {"log1mexp", &log1mexp, "log(1 - exp(x)) for negative x."},
    {"xlogx", &xlogx, "x log(x), 0 at 0."},
    {"erfinv", &erfinv, "The inverse of erf; nan outside of [-1, 1]."},
    {"erfcinv", &erfcinv, "The inverse of erfc; nan outside of [0, 2]."},
    {"erfcx", &erfcx, "exp(x^2) erfc(x), which does not underflow."},
    {"gamma", &gamma, "The gamma function; nan at negative integers."},
    {"gammaln", &gammaln, "log |gamma(x)|."},
    {"psi", &psi, "The derivative of gammaln."},
    {"digamma", &digamma, "The derivative of gammaln."},
    {"tri_gamma", &tri_gamma, "The derivative of psi."},
    {"i0", &i0, "The modified Bessel function of the first kind, of order 0."},
    {"i1", &i1, "The modified Bessel function of the first kind, of order 1."},
    {"j0", &j0, "The Bessel function of the first kind, of order 0."},
    {"j1", &j1, "The Bessel function of the first kind, of order 1."},
    {"round_half_away_from_zero", &round_half_away_from_zero, "The nearest whole number, halves away from zero."},
    {"rint", &rint, "The nearest whole number, halves to even."},
    {"fix", &fix, "The whole part, towards zero."},
    {"isfinite", &isfinite, "True where x is neither infinite nor nan."},
    {"isposinf", &isposinf, "True where x is inf."},
    {"isneginf", &isneginf, "True where x is -inf."},
    {"signbit", &signbit, "The sign bit: True for -0 too."},
    {"bitwise_count", &bitwise_count, "The number of bits of |x| that are 1, as uint8."},
    {"logical_not", &logical_not, "Whether x is 0."},
    {"bitwise_not", &bitwise_not, "The bitwise not of integers, the logical not of bool."},
    {"negative", &negative, "-x."},
    {"positive", &positive, "x."},
    {"absolute", &absolute, "The absolute value."},
    {"sign", &sign, "-1, 0 or 1; nan stays nan. TypeError for bool."},
    {"square", &square, "x * x."},
};

constexpr BinaryRow binary_rows[] = {
    {"arctan2", &arctan2, "The angle of the point (b, a)."},
    {"atan2", &atan2, "The angle of the point (b, a)."},
    {"hypot", &hypot, "sqrt(a^2 + b^2) without intermediate overflow."},
    {"logaddexp", &logaddexp, "log(exp(a) + exp(b)) without overflow."},
    {"logaddexp2", &logaddexp2, "log2(2^a + 2^b) without overflow."},
    {"xlogy0", &xlogy0, "a log(b), 0 where a is 0."},
    {"xlog1py", &xlog1py, "a log(1 + b), 0 where a is 0."},
    {"float_power", &float_power, "a to the power b, in float64, or complex128 if either is complex."},
    {"polygamma", &polygamma, "The derivative of psi of order a (0 to 100) at b."},
    {"gammainc", &gammainc, "P(a, b), the regularised lower incomplete gamma function; differentiated by b only."},
    {"gammaincc", &gammaincc, "Q(a, b) = 1 - P(a, b), the regularised upper incomplete gamma function."},
    {"gammal", &gammal, "gamma(a) P(a, b), the lower incomplete gamma function."},
    {"gammau", &gammau, "gamma(a) Q(a, b), the upper incomplete gamma function."},
    {"chi2sf", &chi2sf, "The probability that a chi-square variable of b degrees of freedom is above a."},
    {"jv", &jv, "The Bessel function of the first kind of real order a at b; differentiated by b only."},
    {"iv", &iv, "The modified Bessel function of the first kind of real order a at b."},
    {"fmod", &fmod, "The remainder with the sign of a, as in C."},
    {"copysign", &copysign, "The magnitude of a with the sign of b."},
    {"nextafter", &nextafter, "The next number from a in the direction of b."},
    {"fmax", &fmax, "The larger operand; if one is nan, the other."},
    {"fmin", &fmin, "The smaller operand; if one is nan, the other."},
    {"heaviside", &heaviside, "0 for negative a, b at 0, 1 for positive a."},
    {"ldexp", &ldexp, "a 2^b for an integer b."},
    {"left_shift", &left_shift, "a 2^b modulo 2^n, for integers of n bits; 0 if b is not in [0, n)."},
    {"right_shift", &right_shift, "a / 2^b rounded down, for integers of n bits; 0 or -1 if b is not in [0, n)."},
    {"gcd", &gcd, "The greatest common divisor."},
    {"lcm", &lcm, "The least common multiple."},
    {"logical_and", &logical_and, "Whether both are not 0."},
    {"logical_or", &logical_or, "Whether at least one is not 0."},
    {"logical_xor", &logical_xor, "Whether exactly one is not 0."},
    {"bitwise_and", &bitwise_and, "The bitwise and of integers, the logical and of bool."},
    {"bitwise_or", &bitwise_or, "The bitwise or of integers, the logical or of bool."},
    {"bitwise_xor", &bitwise_xor, "The bitwise exclusive or of integers, the logical one of bool."},
    {"subtract", &subtract, "a - b."},
    {"multiply", &multiply, "a * b, elementwise."},
    {"true_divide", &true_divide, "a / b; two integers give floatX."},
    {"divide", &divide, "a / b; two integers give floatX."},
    {"bitwise_left_shift", &bitwise_left_shift, "a 2^b modulo 2^n, for integers of n bits; 0 if b is not in [0, n)."},
    {"bitwise_right_shift", &bitwise_right_shift,
     "a / 2^b rounded down, for integers of n bits; 0 or -1 if b is not in [0, n)."},
    {"int_div", &int_div, "The quotient rounded towards minus infinity."},
    {"remainder", &remainder, "The remainder with the sign of b."},
    {"power", &power, "a to the power b."},
    {"less", &less, "a < b, elementwise."},
    {"less_equal", &less_equal, "a <= b, elementwise."},
    {"greater", &greater, "a > b, elementwise."},
    {"greater_equal", &greater_equal, "a >= b, elementwise."},
    {"equal", &equal, "a == b, elementwise."},
    {"not_equal", &not_equal, "a != b, elementwise."},
    {"fill", &fill, "b broadcast to the shape of a."},
};

Rounding to_rounding(const std::string& mode) {
  if (mode == "half_to_even") return Rounding::half_to_even;
  if (mode == "half_away_from_zero") return Rounding::half_away_from_zero;
  throw ValueError("the mode of rounding is half_to_even or half_away_from_zero, not '" + mode + "'");
}

nb::tuple pair_of(const std::pair<Variable, Variable>& pair) { return nb::make_tuple(pair.first, pair.second); }

void bind_rounding(nb::module_& m) {
  m.def(
      "round",
      [](nb::handle x, nb::object second, const std::string& mode) {
        // Theano's second argument is the mode, NumPy's the number of decimals.
        if (nb::isinstance<nb::str>(second)) return round(to_operand(x), to_rounding(nb::cast<std::string>(second)));
        const int decimals = second.is_none() ? 0 : to_int(second, "the number of decimals");
        if (decimals == 0) return round(to_operand(x), to_rounding(mode));
        if (mode != "half_to_even") throw ValueError("rounding to decimals goes to even; mode cannot be given with it");
        return round(to_operand(x), decimals);
      },
      "x"_a, "decimals"_a = nb::none(), "mode"_a = "half_to_even",
      "x rounded to a whole number, or to a number of decimals; halves go to even, as in NumPy, or with "
      "mode='half_away_from_zero' away from zero.");
  m.def(
      "iround", [](nb::handle x, const std::string& mode) { return iround(to_operand(x), to_rounding(mode)); }, "x"_a,
      "mode"_a = "half_to_even", "x rounded to a whole number, as int64.");
}

void bind_closeness(nb::module_& m) {
  m.def(
      "nan_to_num",
      [](nb::handle x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
        return nan_to_num(to_operand(x), nan, posinf, neginf);
      },
      "x"_a, "nan"_a = 0.0, "posinf"_a = nb::none(), "neginf"_a = nb::none(),
      "x with nan, inf and -inf replaced; by default by 0, the largest and the lowest finite value.");
  m.def(
      "isclose",
      [](nb::handle a, nb::handle b, double rtol, double atol, bool equal_nan) {
        return isclose(to_operand(a), to_operand(b), rtol, atol, equal_nan);
      },
      "a"_a, "b"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false,
      "|a - b| <= atol + rtol |b|, elementwise; infinities are close to themselves, nans if equal_nan.");
  m.def(
      "allclose",
      [](nb::handle a, nb::handle b, double rtol, double atol, bool equal_nan) {
        return allclose(to_operand(a), to_operand(b), rtol, atol, equal_nan);
      },
      "a"_a, "b"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false, "Whether isclose holds everywhere.");
}

void bind_pairs(nb::module_& m) {
  m.def(
      "divmod", [](nb::handle a, nb::handle b) { return pair_of(divmod(to_operand(a), to_operand(b))); }, "a"_a, "b"_a,
      "(a // b, a % b).");
  m.def(
      "modf", [](nb::handle x) { return pair_of(modf(to_operand(x))); }, "x"_a,
      "The fractional part, with the sign of x, and the whole part.");
  m.def(
      "frexp", [](nb::handle x) { return pair_of(frexp(to_operand(x))); }, "x"_a,
      "The m and e (int32) of x = m 2^e with |m| in [1/2, 1).");
}

}  // namespace

void bind_elementwise_functions(nb::module_& m) {
  bind_rows(m, unary_rows);
  bind_rows(m, binary_rows);
  bind_rounding(m);
  bind_closeness(m);
  bind_pairs(m);
}

}  // namespace croton::python
