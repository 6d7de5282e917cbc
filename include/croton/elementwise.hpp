// More elementwise operations: functions of NumPy and Theano that are not in <croton/ops.hpp>, and other names of those
// that are. They broadcast in the same way. Functions "of a float" give float32 for integers of up to 16 bits and
// float64 for wider ones; docs/internals/ulp.md lists their largest errors. If NumPy and Theano have different names,
// NumPy's comes first.
#pragma once

#include <croton/ops.hpp>

#include <optional>
#include <utility>

namespace croton {

// ---- inverse trigonometric and hyperbolic functions, of a float
/// The inverse sine and cosine (nan outside [-1, 1]), and the inverse tangent.
Variable arcsin(Operand x);
Variable arccos(Operand x);
Variable arctan(Operand x);
/// The angle of the point (x, y) in (-pi, pi], with C's values at zeros and infinities.
Variable arctan2(Operand y, Operand x);
Variable arcsinh(Operand x);
/// The inverse hyperbolic cosine; nan below 1.
Variable arccosh(Operand x);
/// The inverse hyperbolic tangent; nan outside [-1, 1], infinite at -1 and 1.
Variable arctanh(Operand x);
/// x pi / 180 and its inverse.
Variable deg2rad(Operand x);
Variable rad2deg(Operand x);
/// sin(pi x) / (pi x), 1 at 0; also for complex numbers.
Variable sinc(Operand x);

// ---- roots, exponentials and logarithms, of a float
/// The real cube root; that of negative x is negative.
Variable cbrt(Operand x);
/// sqrt(a^2 + b^2), without overflow of intermediate values; inf if either is infinite. Gradient 0 at (0, 0).
Variable hypot(Operand a, Operand b);
Variable exp10(Operand x);
/// log(1 - exp(x)) for negative x (Maechler, 2012); -inf at 0, nan for positive x.
Variable log1mexp(Operand x);
/// log(exp(a) + exp(b)) and log2(2^a + 2^b) without overflow. The absolute error is small; the relative error may be
/// large where the result is near 0.
Variable logaddexp(Operand a, Operand b);
Variable logaddexp2(Operand a, Operand b);
/// x log(x), a log(b) and a log(1 + b); 0 where the first operand is 0, whatever the second is.
Variable xlogx(Operand x);
Variable xlogy0(Operand a, Operand b);
Variable xlog1py(Operand a, Operand b);
/// a to the power b in float64, also for integers; in complex128 if either is complex.
Variable float_power(Operand a, Operand b);

// ---- special functions, of a float
/// The inverses of erf (nan outside [-1, 1]) and of erfc (nan outside [0, 2]).
Variable erfinv(Operand x);
Variable erfcinv(Operand x);
/// exp(x^2) erfc(x), which does not underflow.
Variable erfcx(Operand x);
/// The gamma function; infinite at 0 with the sign of the zero, nan at negative integers.
Variable gamma(Operand x);
/// log |gamma(x)|; inf at 0 and negative integers. The relative error grows near its zeros at negative x.
Variable gammaln(Operand x);
/// The derivative of gammaln (digamma); -1 / x at 0, nan at negative integers.
Variable psi(Operand x);
/// The derivative of psi; inf at 0 and negative integers.
Variable tri_gamma(Operand x);
/// The derivative of psi of order n (0 to 100); nan for other n and for x below -100. It has no derivative with respect
/// to n.
Variable polygamma(Operand n, Operand x);
/// The incomplete gamma functions, regularised: P(a, x), the integral of t^(a - 1) e^-t from 0 to x over gamma(a), and
/// Q(a, x) = 1 - P(a, x), which is accurate also where it is small (DLMF 8.2). Special values are SciPy's: P(0, x) = 1
/// for positive x, P(a, 0) = 0, nan for negative operands and if both are 0 or infinite. They have derivatives with
/// respect to x only.
Variable gammainc(Operand a, Operand x);
Variable gammaincc(Operand a, Operand x);
/// The incomplete gamma functions, not regularised: gamma(a) P(a, x), lower, and gamma(a) Q(a, x), upper.
Variable gammal(Operand a, Operand x);
Variable gammau(Operand a, Operand x);
/// The probability that a chi-square variable of k degrees of freedom is above x: Q(k / 2, x / 2); 1 for negative x.
Variable chi2sf(Operand x, Operand k);
/// Modified Bessel functions of the first kind, of orders 0 and 1.
Variable i0(Operand x);
Variable i1(Operand x);
/// Bessel functions of the first kind, of orders 0 and 1. From |x| = 8 on the absolute error is small
/// (docs/internals/ulp.md).
Variable j0(Operand x);
Variable j1(Operand x);
/// The Bessel function and the modified one of the first kind of real order v (DLMF 10.2, 10.25); nan for negative x if
/// v is not an integer, and for orders beyond 5000 unless the result is 0. docs/use/numerics.md gives their accuracy.
/// They have derivatives with respect to x only.
Variable jv(Operand v, Operand x);
Variable iv(Operand v, Operand x);

// ---- rounding and remainders: the dtype does not change
enum class Rounding { half_to_even, half_away_from_zero };
Variable round(Operand x, Rounding mode);
/// x rounded to a number of decimals (negative: tens, hundreds), halves to even: rint(x 10^d) / 10^d, as in NumPy.
Variable round(Operand x, int decimals);
Variable round_half_away_from_zero(Operand x);
/// round, as int64.
Variable iround(Operand x, Rounding mode = Rounding::half_to_even);
inline Variable rint(Operand x) { return round(x); }
/// x rounded towards zero.
inline Variable fix(Operand x) { return trunc(x); }
/// The remainder with the sign of a, as in C; 0 (floats: nan) where b is 0.
Variable fmod(Operand a, Operand b);
/// floor_divide(a, b) and a % b.
std::pair<Variable, Variable> divmod(Operand a, Operand b);
/// The fractional part, with x's sign, and the whole part.
std::pair<Variable, Variable> modf(Operand x);

// ---- signs, neighbours, special values
/// Whether x is neither infinite nor nan.
Variable isfinite(Operand x);
Variable isposinf(Operand x);
Variable isneginf(Operand x);
/// Whether the sign bit is set, as for -0.
Variable signbit(Operand x);
/// The magnitude of a with the sign of b.
Variable copysign(Operand a, Operand b);
/// The next number of the promoted dtype from a in the direction of b, as in C: b if they are equal. Its derivative
/// with respect to a is 1, to b 0.
Variable nextafter(Operand a, Operand b);
/// The distance from x to its next neighbour of larger magnitude, with the sign of x: nextafter(x, inf) - x for
/// positive x, infinite for the largest number, nan for infinities; the smallest positive number for 0 and -0. (As in
/// NumPy, except for negative float16, where NumPy's is positive.) Its derivative is 0.
Variable spacing(Operand x);
/// |x| as a float. TypeError for complex numbers; use abs.
Variable fabs(Operand x);
/// The larger (smaller) operand; if one is nan, the other one. At a tie the gradient goes to a.
Variable fmax(Operand a, Operand b);
Variable fmin(Operand a, Operand b);
/// 0 for negative x, at_zero at 0, 1 for positive x.
Variable heaviside(Operand x, Operand at_zero);
/// x with nan, inf and -inf replaced by the numbers, by default 0 and the largest and the lowest finite value of x's
/// dtype.
Variable nan_to_num(Operand x, double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {});
/// Whether |a - b| <= atol + rtol |b|, elementwise; equal infinities are close, nans if equal_nan.
Variable isclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether isclose is true for all elements; a scalar.
Variable allclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// ---- powers of two
/// x 2^exponent for a float x; TypeError if the exponent is not an integer.
Variable ldexp(Operand x, Operand exponent);
/// The parts m and e (int32) of x = m 2^e with |m| in [1/2, 1); for 0, inf and nan m = x and e = 0.
std::pair<Variable, Variable> frexp(Operand x);

// ---- whole numbers: TypeError for bool and floats
/// a 2^b modulo 2^n; 0 where b is negative or at least the number n of bits.
Variable left_shift(Operand a, Operand b);
/// a / 2^b rounded down; where b is negative or at least the number of bits, 0, or -1 for negative a.
Variable right_shift(Operand a, Operand b);
/// The greatest common divisor and the least common multiple of the magnitudes; gcd(0, 0) = lcm(0, x) = 0.
Variable gcd(Operand a, Operand b);
Variable lcm(Operand a, Operand b);
/// The number of 1 bits of |x|, as uint8. Also for bool.
Variable bitwise_count(Operand x);

// ---- logic
/// Logical operations on any dtype: nonzero values, including nan, are true; the result is bool.
Variable logical_and(Operand a, Operand b);
Variable logical_or(Operand a, Operand b);
Variable logical_xor(Operand a, Operand b);
Variable logical_not(Operand x);
/// Bitwise on integers, logical on bool.
inline Variable bitwise_and(Operand a, Operand b) { return a & b; }
inline Variable bitwise_or(Operand a, Operand b) { return a | b; }
inline Variable bitwise_xor(Operand a, Operand b) { return a ^ b; }
inline Variable bitwise_not(Operand x) { return ~x; }
inline Variable bitwise_invert(Operand x) { return ~x; }
inline Variable bitwise_left_shift(Operand a, Operand b) { return left_shift(a, b); }
inline Variable bitwise_right_shift(Operand a, Operand b) { return right_shift(a, b); }
inline Variable invert(Operand x) { return ~x; }
inline Variable and_(Operand a, Operand b) { return a & b; }
inline Variable or_(Operand a, Operand b) { return a | b; }
inline Variable xor_(Operand a, Operand b) { return a ^ b; }

// ---- other names of operations of <croton/ops.hpp>
inline Variable add(Operand a, Operand b) { return a + b; }
inline Variable subtract(Operand a, Operand b) { return a - b; }
inline Variable sub(Operand a, Operand b) { return a - b; }
inline Variable multiply(Operand a, Operand b) { return a * b; }
inline Variable mul(Operand a, Operand b) { return a * b; }
inline Variable true_divide(Operand a, Operand b) { return a / b; }
inline Variable divide(Operand a, Operand b) { return a / b; }
inline Variable true_div(Operand a, Operand b) { return a / b; }
inline Variable int_div(Operand a, Operand b) { return floor_divide(a, b); }
inline Variable remainder(Operand a, Operand b) { return a % b; }
inline Variable mod(Operand a, Operand b) { return a % b; }
inline Variable power(Operand a, Operand b) { return pow(a, b); }
inline Variable negative(Operand x) { return -x; }
inline Variable neg(Operand x) { return -x; }
/// x itself.
inline Variable positive(Operand x) { return x.variable; }
inline Variable absolute(Operand x) { return abs(x); }
inline Variable sign(Operand x) { return sgn(x); }
inline Variable square(Operand x) { return sqr(x); }
inline Variable inv(Operand x) { return reciprocal(x); }
inline Variable acos(Operand x) { return arccos(x); }
inline Variable asin(Operand x) { return arcsin(x); }
inline Variable atan(Operand x) { return arctan(x); }
inline Variable atan2(Operand y, Operand x) { return arctan2(y, x); }
inline Variable acosh(Operand x) { return arccosh(x); }
inline Variable asinh(Operand x) { return arcsinh(x); }
inline Variable atanh(Operand x) { return arctanh(x); }
inline Variable radians(Operand x) { return deg2rad(x); }
inline Variable degrees(Operand x) { return rad2deg(x); }
inline Variable digamma(Operand x) { return psi(x); }
inline Variable less(Operand a, Operand b) { return a < b; }
inline Variable less_equal(Operand a, Operand b) { return a <= b; }
inline Variable greater(Operand a, Operand b) { return a > b; }
inline Variable greater_equal(Operand a, Operand b) { return a >= b; }
inline Variable equal(Operand a, Operand b) { return eq(a, b); }
inline Variable not_equal(Operand a, Operand b) { return neq(a, b); }
inline Variable lt(Operand a, Operand b) { return a < b; }
inline Variable le(Operand a, Operand b) { return a <= b; }
inline Variable gt(Operand a, Operand b) { return a > b; }
inline Variable ge(Operand a, Operand b) { return a >= b; }
/// b broadcast to the shape of a.
Variable fill(Operand a, Operand b);

}  // namespace croton
