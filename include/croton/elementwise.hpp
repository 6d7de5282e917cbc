// More elementwise operations: the functions of NumPy and Theano that <croton/ops.hpp> has not, and other names of
// those that it has. They broadcast as those do. Functions "of a float" give float32 for integers of up to 16 bits and
// float64 for wider ones; docs/internals/ulp.md lists their largest errors. Where both names exist, NumPy's comes
// first.
#pragma once

#include <croton/ops.hpp>

#include <optional>
#include <utility>

namespace croton {

// ---- inverse trigonometric and hyperbolic functions, of a float
/// nan outside of [-1, 1].
Variable arcsin(Operand x);
Variable arccos(Operand x);
Variable arctan(Operand x);
/// The angle of the point (x, y) in (-pi, pi], with C's values at zeros and infinities.
Variable arctan2(Operand y, Operand x);
Variable arcsinh(Operand x);
/// nan below 1.
Variable arccosh(Operand x);
/// nan outside of [-1, 1], infinite at -1 and 1.
Variable arctanh(Operand x);
/// x pi / 180 and its inverse.
Variable deg2rad(Operand x);
Variable rad2deg(Operand x);
/// sin(pi x) / (pi x), 1 at 0; of complex numbers too.
Variable sinc(Operand x);

// ---- roots, exponentials and logarithms, of a float
/// The real cube root; that of negative x is negative.
Variable cbrt(Operand x);
/// sqrt(a^2 + b^2), which does not overflow before the result does; inf if either is infinite. Gradient 0 at (0, 0).
Variable hypot(Operand a, Operand b);
Variable exp10(Operand x);
/// log(1 - exp(x)) of negative x (Maechler, 2012); -inf at 0, nan above.
Variable log1mexp(Operand x);
/// log(exp(a) + exp(b)) and log2(2^a + 2^b) without overflow. The absolute error is small; where the result is near 0
/// the relative one need not be.
Variable logaddexp(Operand a, Operand b);
Variable logaddexp2(Operand a, Operand b);
/// x log(x), a log(b) and a log(1 + b); 0 where the first operand is 0, whatever the second is.
Variable xlogx(Operand x);
Variable xlogy0(Operand a, Operand b);
Variable xlog1py(Operand a, Operand b);
/// a to the power b in float64, also of integers; in complex128 if either is complex.
Variable float_power(Operand a, Operand b);

// ---- special functions, of a float
/// The inverses of erf (nan outside of [-1, 1]) and of erfc (nan outside of [0, 2]).
Variable erfinv(Operand x);
Variable erfcinv(Operand x);
/// exp(x^2) erfc(x), which does not underflow.
Variable erfcx(Operand x);
/// Infinite at 0 with its sign, nan at negative integers.
Variable gamma(Operand x);
/// log |gamma(x)|; inf at 0 and negative integers. The relative error grows near its zeros at negative x.
Variable gammaln(Operand x);
/// The derivative of gammaln (digamma); -1 / x at 0, nan at negative integers.
Variable psi(Operand x);
/// The derivative of psi; inf at 0 and negative integers.
Variable tri_gamma(Operand x);
/// The derivative of psi of order n (0 to 100); nan for other n and for x below -100. It is not differentiated by n.
Variable polygamma(Operand n, Operand x);
/// The incomplete gamma functions, regularised: P(a, x), the integral of t^(a - 1) e^-t from 0 to x over gamma(a), and
/// Q(a, x) = 1 - P(a, x), which is as good where it is small (DLMF 8.2). Special values as SciPy's: P(0, x) = 1 of
/// positive x, P(a, 0) = 0, nan of negative operands and where both are 0 or infinite. They are differentiated by x
/// only.
Variable gammainc(Operand a, Operand x);
Variable gammaincc(Operand a, Operand x);
/// The same, not regularised: gamma(a) P(a, x), lower, and gamma(a) Q(a, x), upper.
Variable gammal(Operand a, Operand x);
Variable gammau(Operand a, Operand x);
/// The probability that a chi-square variable of k degrees of freedom is above x: Q(k / 2, x / 2); 1 of negative x.
Variable chi2sf(Operand x, Operand k);
/// Modified Bessel functions of the first kind, of orders 0 and 1.
Variable i0(Operand x);
Variable i1(Operand x);
/// Bessel functions of the first kind, of orders 0 and 1. From |x| = 8 on the absolute error is small
/// (docs/internals/ulp.md).
Variable j0(Operand x);
Variable j1(Operand x);
/// The Bessel function and the modified one of the first kind of real order v (DLMF 10.2, 10.25); nan of negative x
/// where v is no whole number, and of orders beyond 5000 unless the result is 0. docs/use/numerics.md says how exact
/// they are. They are differentiated by x only.
Variable jv(Operand v, Operand x);
Variable iv(Operand v, Operand x);

// ---- rounding and remainders: the dtype stays
enum class Rounding { half_to_even, half_away_from_zero };
Variable round(Operand x, Rounding mode);
/// To so many decimals (negative: tens, hundreds), halves to even: rint(x 10^d) / 10^d, as NumPy.
Variable round(Operand x, int decimals);
Variable round_half_away_from_zero(Operand x);
/// round, as int64.
Variable iround(Operand x, Rounding mode = Rounding::half_to_even);
inline Variable rint(Operand x) { return round(x); }
/// Towards zero.
inline Variable fix(Operand x) { return trunc(x); }
/// The remainder with the sign of a, as C's; 0 (floats: nan) where b is 0.
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
/// The sign bit: of -0 it is set.
Variable signbit(Operand x);
/// The magnitude of a with the sign of b.
Variable copysign(Operand a, Operand b);
/// The next number of the promoted dtype from a in the direction of b, as C's: b where they are equal. Its derivative
/// by a is 1, by b 0.
Variable nextafter(Operand a, Operand b);
/// The distance from x to its next neighbour of larger magnitude, with the sign of x: nextafter(x, inf) - x of positive
/// x, infinite of the largest number, nan of infinities; the least positive number of 0 and -0. (NumPy's, but for
/// negative float16, of which NumPy's is positive.) Its derivative is 0.
Variable spacing(Operand x);
/// |x| as a float. TypeError for complex numbers: abs takes them.
Variable fabs(Operand x);
/// The larger (smaller) one; where one is nan, the other one. A tie gives the gradient to a.
Variable fmax(Operand a, Operand b);
Variable fmin(Operand a, Operand b);
/// 0 for negative x, at_zero at 0, 1 for positive x.
Variable heaviside(Operand x, Operand at_zero);
/// nan, inf and -inf replaced; without a number by 0 and by the largest and the lowest finite value of x's dtype.
Variable nan_to_num(Operand x, double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {});
/// |a - b| <= atol + rtol |b|, elementwise; infinities are close to themselves, nans if equal_nan.
Variable isclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether isclose holds everywhere; a scalar.
Variable allclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// ---- powers of two
/// x 2^exponent, of a float x; TypeError where the exponent is no integer.
Variable ldexp(Operand x, Operand exponent);
/// The parts m and e (int32) of x = m 2^e with |m| in [1/2, 1); 0, inf and nan are their own m, with e = 0.
std::pair<Variable, Variable> frexp(Operand x);

// ---- whole numbers: TypeError for bool and floats
/// a 2^b modulo 2^n; 0 where b is negative or at least the number n of bits.
Variable left_shift(Operand a, Operand b);
/// a / 2^b rounded down; where b is negative or at least the number of bits, 0, or -1 of negative a.
Variable right_shift(Operand a, Operand b);
/// Of the magnitudes; gcd(0, 0) = lcm(0, x) = 0.
Variable gcd(Operand a, Operand b);
Variable lcm(Operand a, Operand b);
/// How many bits of |x| are 1, as uint8. Takes bool.
Variable bitwise_count(Operand x);

// ---- logic
/// Of any dtype, where not 0 counts as true (nan too); the result is bool.
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

// ---- other names of what <croton/ops.hpp> has
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
/// The value b in the shape of a, to which it broadcasts.
Variable fill(Operand a, Operand b);

}  // namespace croton
