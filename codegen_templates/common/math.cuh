// The mathematics of generated kernels, the same text and the same bits on every device. float and double overloads;
// f16 and bf16 are computed in float. A device header and numeric.cuh come before this text. The rules of this file,
// and their reasons:
//  - Polynomials with explicit fma, no library calls: compilers contract nothing, so a result does not depend on who
//  compiled it.
//  - Branch-free selects wherever a kernel's loop should vectorise; a select never hides undefined behaviour, both
//  sides are always defined.
//  - n = rint(x * c) comes from adding 1.5 * 2^23 (1.5 * 2^52): the low bits of the sum are n as an integer. Converting
//  a nan to an integer
//    would be undefined, and slow on GPUs. It needs arithmetic that is not reassociated, which is how kernels are
//    compiled.
//  - Every coefficient table was fitted for this project: least squares in 160 or 320 bits at Chebyshev points,
//  reweighted towards the
//    minimax error (Lawson 1961), coefficients rounded to the type one after the other, lowest first, the rest fitted
//    again. Comments state function, interval and the largest weighted error of the rounded polynomial.
// Accuracy is asserted by tests/unit/test_math.cpp and measured against MPFR by tests/ulp (docs/internals/ulp.md).
#ifndef CT_MATH
#define CT_MATH

namespace ct {

// --- Pieces that have one name for both types ----------------------------------------------------

namespace internal {

// x * 2^(n/2) * 2^(n - n/2); the low bits of `twice_biased`, 9 (12) of them, hold n + 2 * bias, which is not negative.
// Two factors, so that results below the normal range are rounded once and results above it become inf. Their exponents
// are half of that, rounded down and up.
CT_DEVICE float scale(float x, u32 twice_biased) {
  const u32 half = twice_biased << 22, down = half & 0x7f800000u, up = (half + 0x400000u) & 0x7f800000u;
  return x * float_from_bits(down) * float_from_bits(up);
}
CT_DEVICE double scale(double x, u64 twice_biased) {
  const u64 half = twice_biased << 51, exponent = 0x7ff0000000000000ull, place = 0x8000000000000ull;
  return x * double_from_bits(half & exponent) * double_from_bits((half + place) & exponent);
}

CT_DEVICE float with_sign_of(float magnitude, float sign) {
  return float_from_bits(bits_of(magnitude) | (bits_of(sign) & 0x80000000u));
}
CT_DEVICE double with_sign_of(double magnitude, double sign) {
  return double_from_bits(bits_of(magnitude) | (bits_of(sign) & 0x8000000000000000ull));
}

// x = n * ln 2 + r with |r| <= ln 2 / 2, expm1(r) = high + rest; low bits of `n_bits` hold n + bias, an even bias.
// Wants |x| < 2^20.
template <class T, class Bits>
struct ExpParts {
  T high, rest, expm1_r;  // `high` is r but for the low bits of ln 2, and exact; expm1_r is the rounded sum
  Bits n_bits;
};

constexpr u32 float_magic = 0x4b400000u;             // 1.5 * 2^23
constexpr u64 double_magic = 0x4338000000000000ull;  // 1.5 * 2^52

CT_DEVICE ExpParts<float, u32> exp_parts(float x, float bias = 0.0f) {
  const float magic = 12582912.0f + bias, t = fma(x, 1.44269502f, magic);
  const float n = t - magic;
  const float high = fma(n, -0.693145752f, x), low = n * -1.42860677e-06f,
              r = high + low;  // ln 2 in two parts; the first has 16 bits
  // exp(r) = 1 + r + r^2 q(r) on [-0.3475, 0.3475], relative error 2^-28.2.
  float q = 0.0013822403f;
  q = fma(q, r, 0.008368851f);
  q = fma(q, r, 0.04166825f);
  q = fma(q, r, 0.1666652f);
  q = fma(q, r, 0.49999994f);
  const float rest = fma(r * r, q, low);  // r itself, rounded, enters only in small terms
  return {high, rest, high + rest, bits_of(t)};
}

CT_DEVICE ExpParts<double, u64> exp_parts(double x, double bias = 0.0) {
  const double magic = 6755399441055744.0 + bias, t = fma(x, 1.4426950408889634, magic);
  const double n = t - magic;
  const double high = fma(n, -0.6931471805598903, x), low = n * -5.497923018708371e-14,
               r = high + low;  // ln 2 in two parts; the first has 42 bits
  // exp(r) = 1 + r + r^2 q(r) on [-0.3475, 0.3475], relative error 2^-57.9.
  double q = 2.5002517822906607e-08;
  q = fma(q, r, 2.763071084286546e-07);
  q = fma(q, r, 2.755758041333055e-06);
  q = fma(q, r, 2.480149185471235e-05);
  q = fma(q, r, 0.00019841269511263268);
  q = fma(q, r, 0.0013888888944778863);
  q = fma(q, r, 0.008333333333493195);
  q = fma(q, r, 0.041666666666525985);
  q = fma(q, r, 0.16666666666666413);
  q = fma(q, r, 0.5000000000000011);
  const double rest = fma(r * r, q, low);  // r itself, rounded, enters only in small terms
  return {high, rest, high + rest, bits_of(t)};
}

// 2^e for the e whose biased value is in the low bits.
CT_DEVICE float power_of_two(u32 biased) { return float_from_bits(biased << 23); }
CT_DEVICE double power_of_two(u64 biased) { return double_from_bits(biased << 52); }

// exp where neither overflow can happen nor nan be met; x >= -104 (-746).
CT_DEVICE float exp_of_negative(float x) {
  const auto parts = exp_parts(x < -104.0f ? -104.0f : x, 254.0f);
  return scale(1.0f + parts.expm1_r, parts.n_bits);
}
CT_DEVICE double exp_of_negative(double x) {
  const auto parts = exp_parts(x < -746.0 ? -746.0 : x, 2046.0);
  return scale(1.0 + parts.expm1_r, parts.n_bits);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), log(1 + f) = f + s. Wants x normal, positive and finite; others
// give some number.
template <class T>
struct LogParts {
  T f, s, e;
};

CT_DEVICE float log_tail(float f) {
  // log(1 + f) = f - f^2 / 2 + f^3 q(f) on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 2^-30.3.
  float q = 0.06731979f;
  q = fma(q, f, -0.11660143f);
  q = fma(q, f, 0.11886341f);
  q = fma(q, f, -0.12408276f);
  q = fma(q, f, 0.14220229f);
  q = fma(q, f, -0.16667852f);
  q = fma(q, f, 0.20002073f);
  q = fma(q, f, -0.25000012f);
  q = fma(q, f, 0.33333313f);
  return f * f * fma(q, f, -0.5f);
}

CT_DEVICE double log_tail(double f) {
  // log(1 + f) = f - f^2 / 2 + f^3 q(f) on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 2^-56.6.
  double q = 0.02613067054583326;
  q = fma(q, f, -0.059794450106019977);
  q = fma(q, f, 0.06503541384614897);
  q = fma(q, f, -0.05678621528983497);
  q = fma(q, f, 0.05668538954491626);
  q = fma(q, f, -0.061965494785381);
  q = fma(q, f, 0.06684552986473644);
  q = fma(q, f, -0.07149450265063495);
  q = fma(q, f, 0.07691533426449719);
  q = fma(q, f, -0.08332913004608397);
  q = fma(q, f, 0.09090923734909631);
  q = fma(q, f, -0.10000015223160487);
  q = fma(q, f, 0.11111111153513942);
  q = fma(q, f, -0.12499999691093021);
  q = fma(q, f, 0.1428571427999518);
  q = fma(q, f, -0.16666666669830443);
  q = fma(q, f, 0.20000000000067295);
  q = fma(q, f, -0.24999999999987949);
  q = fma(q, f, 0.3333333333333314);
  return f * f * fma(q, f, -0.5);
}

// e + 128 (e + 1024) of the above, and the bits of 1 + f.
CT_DEVICE u32 log_exponent(float x) { return (bits_of(x) - 0x3f3504f3u + (128u << 23)) >> 23; }
CT_DEVICE u64 log_exponent(double x) { return (bits_of(x) - 0x3fe6a09e667f3bcdull + (1024ull << 52)) >> 52; }
CT_DEVICE float log_fraction(float x) {
  return float_from_bits(((bits_of(x) - 0x3f3504f3u) & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}
CT_DEVICE double log_fraction(double x) {
  return double_from_bits(((bits_of(x) - 0x3fe6a09e667f3bcdull) & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull) - 1.0;
}
// A small integer to floating point: into the low bits of 2^23 (2^52), which is then taken off again together with the
// bias.
CT_DEVICE float small_to_float(u32 n, float bias) { return float_from_bits(n | 0x4b000000u) - (8388608.0f + bias); }
CT_DEVICE double small_to_float(u64 n, double bias) {
  return double_from_bits(n | 0x4330000000000000ull) - (4503599627370496.0 + bias);
}

CT_DEVICE LogParts<float> log_parts(float x) {
  const bool denormal = x < 1.17549435e-38f;
  const float y = denormal ? x * 33554432.0f : x;
  const float f = log_fraction(y);
  return {f, log_tail(f), small_to_float(log_exponent(y) & 0x1ffu, denormal ? 153.0f : 128.0f)};
}
CT_DEVICE LogParts<double> log_parts(double x) {
  const bool denormal = x < 2.2250738585072014e-308;
  const double y = denormal ? x * 18014398509481984.0 : x;
  const double f = log_fraction(y);
  return {f, log_tail(f), small_to_float(log_exponent(y) & 0xfffu, denormal ? 1078.0 : 1024.0)};
}

// The values that log, log2 and log10 share: nan below 0, -inf at 0, inf at inf.
template <class T>
CT_DEVICE T log_special(T x, T regular) {
  const T special = x == T(0) ? -inf<T>() : x < T(0) ? nan<T>() : x;
  return x > T(0) && x < inf<T>() ? regular : special;
}

CT_DEVICE float log_sum(LogParts<float> p) { return fma(p.e, 0.693145752f, p.f + fma(p.e, 1.42860677e-06f, p.s)); }
CT_DEVICE double log_sum(LogParts<double> p) {
  return fma(p.e, 0.6931471805598903, p.f + fma(p.e, 5.497923018708371e-14, p.s));
}

// log(1 + x) for x > -1 finite: f = (1 + x) 2^-e - 1 in one rounding.
CT_DEVICE float log1p_regular(float x) {
  const float u = 1.0f + x;
  const u32 e = log_exponent(u) & 0x1ffu;
  const float scale = power_of_two(u32(x < 33554432.0f ? 255u - e : 127u));
  const float f = x < 33554432.0f ? fma(x, scale, scale - 1.0f) : log_fraction(u);
  return log_sum(LogParts<float>{f, log_tail(f), small_to_float(e, 128.0f)});
}
CT_DEVICE double log1p_regular(double x) {
  const double u = 1.0 + x;
  const u64 e = log_exponent(u) & 0xfffu;
  const double scale = power_of_two(u64(x < 18014398509481984.0 ? 2047u - e : 1023u));
  const double f = x < 18014398509481984.0 ? fma(x, scale, scale - 1.0) : log_fraction(u);
  return log_sum(LogParts<double>{f, log_tail(f), small_to_float(e, 1024.0)});
}

}  // namespace internal

// --- Comparisons and small things ----------------------------------------------------------------

template <class T>
CT_DEVICE bool isnan(T x) {
  return x != x;
}
template <class T>
CT_DEVICE bool isinf(T x) {
  if constexpr (is_float<T>)
    return abs(x) == inf<T>();
  else
    return false;
}

// An integer needs no rounding; floats have separate functions in the device headers.
template <class T>
CT_DEVICE T floor(T x) {
  return x;
}
template <class T>
CT_DEVICE T ceil(T x) {
  return x;
}
template <class T>
CT_DEVICE T trunc(T x) {
  return x;
}
template <class T>
CT_DEVICE T rint(T x) {
  return x;
}

namespace internal {
// The bits that both numbers have, or either.
CT_DEVICE float bits_of_both(float x, float y) { return float_from_bits(bits_of(x) & bits_of(y)); }
CT_DEVICE double bits_of_both(double x, double y) { return double_from_bits(bits_of(x) & bits_of(y)); }
CT_DEVICE float bits_of_either(float x, float y) { return float_from_bits(bits_of(x) | bits_of(y)); }
CT_DEVICE double bits_of_either(double x, double y) { return double_from_bits(bits_of(x) | bits_of(y)); }
}  // namespace internal

// The larger one; nan if either is nan; 0 is larger than -0 (IEEE 754-2019, maximum). Works for every arithmetic type.
// Each of the two selections is one instruction of x86, which gives the other operand where they are equal, and so both
// have the bits of both only for 0 and -0. A device header may have a better one for float.
template <class T>
CT_DEVICE T maximum(T x, T y) {
  if constexpr (!is_float<T>) return x > y ? x : y;
  if constexpr (is_float<T>) {
    const T larger = internal::bits_of_both(x > y ? x : y, x < y ? y : x);
    return x != x || y != y ? nan<T>() : larger;
  }
}
template <class T>
CT_DEVICE T minimum(T x, T y) {
  if constexpr (!is_float<T>) return x < y ? x : y;
  if constexpr (is_float<T>) {
    const T smaller = internal::bits_of_either(x < y ? x : y, x > y ? y : x);
    return x != x || y != y ? nan<T>() : smaller;
  }
}
template <class T>
CT_DEVICE T clip(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}

// -1, 0 or 1; keeps nan and the sign of zero.
template <class T>
CT_DEVICE T sgn(T x) {
  if constexpr (is_float<T> || is_signed_integer<T>)
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
  else
    return T(x > T(0));
}

template <class T>
CT_DEVICE T sqr(T x) {
  return multiply(x, x);
}
template <class T>
CT_DEVICE T reciprocal(T x) {
  return T(1) / x;
}
template <class T>
CT_DEVICE T rsqrt(T x) {
  return T(1) / sqrt(x);
}
CT_DEVICE float deg2rad(float x) { return x * 0.0174532925f; }
CT_DEVICE double deg2rad(double x) { return x * 0.017453292519943295; }
CT_DEVICE float rad2deg(float x) { return x * 57.2957795f; }
CT_DEVICE double rad2deg(double x) { return x * 57.29577951308232; }

template <class T>
CT_DEVICE T round_half_even(T x) {
  return rint(x);
}
// trunc(x + 0.5) would be wrong just below 0.5 and for large odd integers.
template <class T>
CT_DEVICE T round_half_away(T x) {
  if constexpr (is_float<T>) {
    const T magnitude = abs(x), whole = trunc(magnitude);
    return internal::with_sign_of(magnitude - whole >= T(0.5) ? whole + T(1) : whole, x);
  } else {
    return x;
  }
}

// --- Exponentials --------------------------------------------------------------------------------

CT_DEVICE float exp(float x) {
  const float low = x < -104.0f ? -104.0f : x;
  const auto parts = internal::exp_parts(low > 89.0f ? 89.0f : low, 254.0f);
  return internal::scale(1.0f + parts.expm1_r, parts.n_bits);
}
CT_DEVICE double exp(double x) {
  const double low = x < -746.0 ? -746.0 : x;
  const auto parts = internal::exp_parts(low > 710.0 ? 710.0 : low, 2046.0);
  return internal::scale(1.0 + parts.expm1_r, parts.n_bits);
}

CT_DEVICE float exp2(float x) {
  const float low = x < -151.0f ? -151.0f : x, c = low > 129.0f ? 129.0f : low;
  const float t = c + 12582912.0f, f = c - (t - 12582912.0f);
  // 2^f = 1 + f q(f) on [-0.501, 0.501], relative error 2^-27.9.
  float q = 0.00015201663f;
  q = fma(q, f, 0.0013391685f);
  q = fma(q, f, 0.009618992f);
  q = fma(q, f, 0.05550358f);
  q = fma(q, f, 0.24022643f);
  q = fma(q, f, 0.6931472f);
  return internal::scale(fma(q, f, 1.0f), bits_of(t) - internal::float_magic + 254u);
}
namespace internal {
CT_DEVICE double exp2_of_fraction(double f) {
  // 2^f = 1 + f q(f) on [-0.501, 0.501], relative error 2^-57.3.
  double q = 4.45056924214084e-10;
  q = fma(q, f, 7.073875347066069e-09);
  q = fma(q, f, 1.0178082912033746e-07);
  q = fma(q, f, 1.3215434760181332e-06);
  q = fma(q, f, 1.5252733814222686e-05);
  q = fma(q, f, 0.00015403530458134052);
  q = fma(q, f, 0.0013333558146372366);
  q = fma(q, f, 0.009618129107593324);
  q = fma(q, f, 0.05550410866482229);
  q = fma(q, f, 0.24022650695910133);
  q = fma(q, f, 0.6931471805599453);
  return fma(q, f, 1.0);
}
}  // namespace internal

CT_DEVICE double exp2(double x) {
  const double low = x < -1076.0 ? -1076.0 : x, c = low > 1025.0 ? 1025.0 : low;
  const double t = c + 6755399441055744.0, f = c - (t - 6755399441055744.0);
  return internal::scale(internal::exp2_of_fraction(f), bits_of(t) - internal::double_magic + 2046u);
}

// 2^n expm1(r) + (2^n - 1), with half of 2^n, which does not overflow before the result does. Where r < 0 < n, the sum
// is smaller than the added term: the exact part of expm1(r) is added first.
CT_DEVICE float expm1(float x) {
  const float low = x < -20.0f ? -20.0f : x;
  const auto parts = internal::exp_parts(low > 89.0f ? 89.0f : low);
  const float half = internal::power_of_two(parts.n_bits - internal::float_magic + 126u);
  const float result = 2.0f * fma(parts.rest, half, fma(parts.high, half, half - 0.5f));
  return abs(x) < 1e-8f ? x : result;
}
CT_DEVICE double expm1(double x) {
  const double low = x < -40.0 ? -40.0 : x;
  const auto parts = internal::exp_parts(low > 710.0 ? 710.0 : low);
  const double half = internal::power_of_two(parts.n_bits - internal::double_magic + 1022u);
  const double result = 2.0 * fma(parts.rest, half, fma(parts.high, half, half - 0.5));
  return abs(x) < 1e-17 ? x : result;
}

// With z = exp(-2|x|): 1 - 2 z / (1 + z), where the roundings of z and 1 + z hardly count, and near 0 a polynomial.
CT_DEVICE float tanh(float x) {
  const float a = abs(x), y = a * a;
  const auto parts = internal::exp_parts(-2.0f * (a > 10.0f ? 10.0f : a));
  const float power = internal::power_of_two(parts.n_bits - internal::float_magic + 127u);
  const float z = fma(parts.expm1_r, power, power);
  const float large = fma(-2.0f, z / (1.0f + z), 1.0f);
  // tanh(a) = a + a y q(y), y = a^2, on [0, 0.5625], relative error 2^-29.4.
  float q = -0.0061759f;
  q = fma(q, y, 0.021004261f);
  q = fma(q, y, -0.05383651f);
  q = fma(q, y, 0.13332441f);
  q = fma(q, y, -0.33333313f);
  const float small = fma(a * y, q, a);
  return internal::with_sign_of(a > 0.5625f ? large : small, x);
}
CT_DEVICE double tanh(double x) {
  const double a = abs(x), y = a * a;
  const auto parts = internal::exp_parts(-2.0 * (a > 20.0 ? 20.0 : a));
  const double power = internal::power_of_two(parts.n_bits - internal::double_magic + 1023u);
  const double z = fma(parts.expm1_r, power, power);
  const double large = fma(-2.0, z / (1.0 + z), 1.0);
  // As above, on [0, 0.625], relative error 2^-64.6.
  double q = -2.2196080173673976e-06;
  q = fma(q, y, 1.1659846470266264e-05);
  q = fma(q, y, -3.647126311276269e-05);
  q = fma(q, y, 9.56480024927316e-05);
  q = fma(q, y, -0.00023872627716331742);
  q = fma(q, y, 0.000589936187492161);
  q = fma(q, y, -0.0014558196624146315);
  q = fma(q, y, 0.003592126365936336);
  q = fma(q, y, -0.00886323540023332);
  q = fma(q, y, 0.021869488529589746);
  q = fma(q, y, -0.0539682539680539);
  q = fma(q, y, 0.13333333333333017);
  q = fma(q, y, -0.3333333333333333);
  const double small = fma(a * y, q, a);
  return internal::with_sign_of(a > 0.625 ? large : small, x);
}

// 1 / (1 + exp(-x)). With z = exp(-|x|) the lower tail is z / (1 + z), the upper 1 minus that: both keep their relative
// accuracy. The rounding error of 1 + z is added back, times about 1 / (1 + z).
template <class T>
CT_DEVICE T sigmoid(T x) {
  const T z = internal::exp_of_negative(-abs(x)), denominator = T(1) + z;
  const T lost = z - (denominator - T(1)), quotient = z / denominator;
  const T tail = fma(-quotient, lost * fma(z, T(-0.5), T(1)), quotient);
  return x < T(0) ? tail : T(1) - tail;
}

// --- Logarithms ----------------------------------------------------------------------------------

template <class T>
CT_DEVICE T log(T x) {
  return internal::log_special(x, internal::log_sum(internal::log_parts(x)));
}

CT_DEVICE float log2(float x) {
  const auto p = internal::log_parts(x);
  const float high = p.f * 1.44269502f;  // (f + s) / ln 2, the rounding of the first product kept
  const float low = fma(p.s, 1.44269502f, fma(p.f, 1.92596303e-08f, fma(p.f, 1.44269502f, -high)));
  return internal::log_special(x, p.e + (high + low));
}
CT_DEVICE double log2(double x) {
  const auto p = internal::log_parts(x);
  const double high = p.f * 1.4426950408889634;
  const double low =
      fma(p.s, 1.4426950408889634, fma(p.f, 2.0355273740931033e-17, fma(p.f, 1.4426950408889634, -high)));
  return internal::log_special(x, p.e + (high + low));
}

CT_DEVICE float log10(float x) {
  const auto p = internal::log_parts(x);
  const float high = p.f * 0.434294492f;
  const float low = fma(p.s, 0.434294492f, fma(p.f, -1.01030500e-08f, fma(p.f, 0.434294492f, -high)));
  return internal::log_special(
      x, fma(p.e, 0.301033020f, high + fma(p.e, -3.02435546e-06f, low)));  // log10(2) in two parts
}
CT_DEVICE double log10(double x) {
  const auto p = internal::log_parts(x);
  const double high = p.f * 0.4342944819032518;
  const double low = fma(p.s, 0.4342944819032518, fma(p.f, 1.098319650216765e-17, fma(p.f, 0.4342944819032518, -high)));
  return internal::log_special(x, fma(p.e, 0.30102999566395283, high + fma(p.e, 2.8363394551044964e-14, low)));
}

template <class T>
CT_DEVICE T log1p(T x) {
  const T special = x == T(-1) ? -inf<T>() : x < T(-1) ? nan<T>() : x;
  const T regular = abs(x) < T(1e-17) ? x : internal::log1p_regular(x);  // keeps -0
  return x > T(-1) && x < inf<T>() ? regular : special;
}

// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)).
template <class T>
CT_DEVICE T softplus(T x) {
  const T tail = internal::log1p_regular(internal::exp_of_negative(-abs(x)));
  return (x < T(0) ? T(0) : x) + tail;
}

// --- Division, powers and shifts -----------------------------------------------------------------

namespace internal {

// The remainder of |x| / |y| as C's fmod, exact: by fma when the quotient is small, else by long division of the
// significands.
CT_DEVICE float remainder_of_magnitudes(float a, float b) {
  if (a < b * 4194304.0f && b >= 1e-30f && b < inf<float>()) {
    const float r = fma(-trunc(a / b), b, a);  // the quotient may be one off, then r is in [-b, 0)
    return r < 0.0f ? r + b : r;
  }
  if (!(a < inf<float>()) || !(b > 0.0f)) return nan<float>();
  if (a < b) return a;
  const u32 ea = bits_of(a) >> 23, eb = bits_of(b) >> 23;
  const u64 ma = (bits_of(a) & 0x7fffffu) | (ea ? 0x800000u : 0u),
            mb = (bits_of(b) & 0x7fffffu) | (eb ? 0x800000u : 0u);
  u64 r = ma % mb;
  for (u32 left = (ea ? ea : 1u) - (eb ? eb : 1u); left != 0;) {
    const u32 step = left < 40u ? left : 40u;
    r = (r << step) % mb;
    left -= step;
  }
  return scale(float(r), (eb ? eb : 1u) + 104u);  // r * 2^(eb - 150), exact
}
CT_DEVICE double remainder_of_magnitudes(double a, double b) {
  if (a < b * 2251799813685248.0 && b >= 1e-200 && b < inf<double>()) {
    const double r = fma(-trunc(a / b), b, a);
    return r < 0.0 ? r + b : r;
  }
  if (!(a < inf<double>()) || !(b > 0.0)) return nan<double>();
  if (a < b) return a;
  const u64 ea = bits_of(a) >> 52, eb = bits_of(b) >> 52, one = 1ull << 52;
  const u64 ma = (bits_of(a) & (one - 1)) | (ea ? one : 0), mb = (bits_of(b) & (one - 1)) | (eb ? one : 0);
  u64 r = ma % mb;
  for (u64 left = (ea ? ea : 1) - (eb ? eb : 1); left != 0;) {
    const u64 step = left < 11 ? left : 11;
    r = (r << step) % mb;
    left -= step;
  }
  return scale(double(r), (eb ? eb : 1) + 971);
}

}  // namespace internal

// x - floor(x / y) * y: the sign of the divisor, as in Python. Integers: 0 where y is 0. Floats: nan where y is 0 or x
// is infinite; the remainder is exact before the sign is adjusted.
template <class T>
CT_DEVICE T mod(T x, T y) {
  if constexpr (is_float<T>) {
    const T r = internal::with_sign_of(internal::remainder_of_magnitudes(abs(x), abs(y)), x);
    return r == T(0) ? internal::with_sign_of(T(0), y) : (r < T(0)) != (y < T(0)) ? r + y : r;
  } else if constexpr (is_signed_integer<T>) {
    const T divisor =
        y == T(0) || y == T(-1) ? T(1) : y;  // neither traps nor overflows; the remainder is 0 in both cases
    const T r = T(x % divisor);
    return r != T(0) && (r < T(0)) != (divisor < T(0)) ? T(r + divisor) : r;
  } else {
    return T(x % (y == T(0) ? T(1) : y));
  }
}

// floor(x / y), as in Python. Integers: 0 where y is 0, and the lowest value divided by -1 is itself. Floats: x / y
// where y is 0, else the quotient without its remainder, rounded to the nearest integer, so that it agrees with mod.
template <class T>
CT_DEVICE T floor_divide(T x, T y) {
  if constexpr (is_float<T>) {
    const T r = internal::with_sign_of(internal::remainder_of_magnitudes(abs(x), abs(y)), x);
    const T quotient = (x - r) / y - (r != T(0) && (r < T(0)) != (y < T(0)) ? T(1) : T(0)), down = floor(quotient);
    const T whole = quotient - down > T(0.5) ? down + T(1) : down;
    return y == T(0) ? x / y : quotient == T(0) ? internal::with_sign_of(T(0), x / y) : whole;
  } else if constexpr (is_signed_integer<T>) {
    const T divisor = y == T(0) || y == T(-1) ? T(1) : y;
    const T quotient = T(x / divisor), r = T(x % divisor);
    const T down = r != T(0) && (r < T(0)) != (divisor < T(0)) ? T(quotient - 1) : quotient;
    return y == T(0) ? T(0) : y == T(-1) ? T(0 - typename wide_unsigned<T>::type(x)) : down;
  } else {
    return y == T(0) ? T(0) : T(x / (y == T(0) ? T(1) : y));
  }
}

// Bits moved out are lost; a count outside of [0, bits) moves all of them out.
template <class T>
CT_DEVICE T left_shift(T x, T count) {
  typedef typename wide_unsigned<T>::type U;
  const bool inside = !is_negative(count) && count < T(8 * sizeof(T));
  return inside ? T(U(x) << (inside ? U(count) : U(0))) : T(0);
}
template <class T>
CT_DEVICE T right_shift(T x, T count) {
  const bool inside = !is_negative(count) && count < T(8 * sizeof(T));
  return T(x >> int(inside ? count : T(8 * sizeof(T) - 1))) & (inside || is_signed_integer<T> ? T(~T(0)) : T(0));
}

template <class T>
CT_DEVICE T true_divide(T x, T y) {
  return x / y;
}

namespace internal {

// C's rules for pow around the power of the magnitude: pow(x, 0) = pow(1, y) = 1 even for nan, pow(x, 1) = x, a
// negative base wants an integer exponent.
template <class T>
CT_DEVICE T pow_special(T x, T y, T of_magnitude) {
  const T half = y * T(0.5), a = abs(x);
  const bool whole = trunc(y) == y, odd = whole && trunc(half) != half;
  const T result = odd ? with_sign_of(of_magnitude, x) : of_magnitude;
  const bool one = x == T(1) || y == T(0) || (a == T(1) && abs(y) == inf<T>());
  return one ? T(1) : y == T(1) ? x : x < T(0) && !whole && a != inf<T>() ? nan<T>() : result;
}

}  // namespace internal

// 2^(y log2 x) in double, whose 53 bits make a float's power exact to half a unit and a little.
CT_DEVICE float pow(float x, float y) {
  const double a = double(abs(x)), f = internal::log_fraction(a);
  // log(1 + f) = f - f^2 / 2 + f^3 q(f) on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 2^-38.2.
  double q = -0.04818758898604703;
  q = fma(q, f, 0.09113381957166389);
  q = fma(q, f, -0.0928782289061284);
  q = fma(q, f, 0.09040860273797631);
  q = fma(q, f, -0.09889310046732612);
  q = fma(q, f, 0.11105401008166291);
  q = fma(q, f, -0.1250571692898085);
  q = fma(q, f, 0.14286182539751185);
  q = fma(q, f, -0.16666532354230842);
  q = fma(q, f, 0.19999989188944597);
  q = fma(q, f, -0.25000001127546406);
  q = fma(q, f, 0.33333333399608933);
  const double log_m = fma(f * f, fma(q, f, -0.5), f);
  const double e = internal::small_to_float(internal::log_exponent(a) & 0xfffu, 1024.0);
  const double v = double(y) * internal::log_special(a, fma(log_m, 1.4426950408889634, e));
  const double low = v < -1000.0 ? -1000.0 : v, c = low > 1000.0 ? 1000.0 : low;
  const double t = c + 6755399441055744.0, g = c - (t - 6755399441055744.0);
  // 2^g = 1 + g p(g) on [-0.501, 0.501], relative error 2^-34.3.
  double p = 1.5195862284014397e-05;
  p = fma(p, g, 0.00015467020382331);
  p = fma(p, g, 0.0013333938454812263);
  p = fma(p, g, 0.009618037361648754);
  p = fma(p, g, 0.0555041035935436);
  p = fma(p, g, 0.24022651071386036);
  p = fma(p, g, 0.6931471807071022);
  return internal::pow_special(
      x, y, float(fma(p, g, 1.0) * internal::power_of_two(bits_of(t) - internal::double_magic + 1023u)));
}

// 2^(y log2 x), the logarithm and the product as sums of two doubles (about 2^-64 relative): an error of the exponent
// is multiplied by up to 709. With s = (m - 1) / (m + 1) and z = s^2, log2(m) = s (2 / ln 2) (1 + z / 3 + z^2 / 5 +
// ...).
CT_DEVICE double pow(double x, double y) {
  const double a = abs(x);
  const bool denormal = a < 2.2250738585072014e-308;
  const double normal = denormal ? a * 18014398509481984.0 : a;
  const double f = internal::log_fraction(normal), m = 1.0 + f;
  const double e = internal::small_to_float(internal::log_exponent(normal) & 0xfffu, denormal ? 1078.0 : 1024.0);
  const double g = 1.0 + m, g_low = m - (g - 1.0), inverse = 1.0 / g;
  const double s = f * inverse, s_low = fma(-s, g_low, fma(-s, g, f)) * inverse;
  const double z = s * s, z_low = fma(2.0 * s, s_low, fma(s, s, -z));
  // The terms from z^2 on: q(z) on [0, 0.02947], error 2^-73.4 of the sum.
  double q = 0.17281341331175448;
  q = fma(q, z, 0.1684521923475198);
  q = fma(q, z, 0.19240127850222535);
  q = fma(q, z, 0.2219522717420809);
  q = fma(q, z, 0.26230819863498833);
  q = fma(q, z, 0.3205988979129738);
  q = fma(q, z, 0.4121985831113451);
  q = fma(q, z, 0.5770780163555851) * z;
  // 2 / (3 ln 2) and 2 / ln 2 in two parts each.
  const double b = 0.9617966939259756 + q, b_low = ((0.9617966939259756 - b) + q) + 5.0577616648125907e-17;
  const double c = z * b, c_low = fma(z, b, -c) + fma(z, b_low, z_low * b);
  const double d = 2.8853900817779268 + c, d_low = ((2.8853900817779268 - d) + c) + (c_low + 4.0710547481862066e-17);
  const double h = s * d, h_low = fma(s, d, -h) + fma(s, d_low, s_low * d);
  const double sum = e + h, sum_low = ((e - sum) + h) + h_low;
  const double log2_a = internal::log_special(a, sum);
  const double v = y * log2_a, v_low = fma(y, sum, -v) + y * sum_low;
  // Out of range, and where log2_a or y is not finite, the lower part means nothing.
  const bool inside = abs(v) < 1100.0;
  const double low = v < -1100.0 ? -1100.0 : v, w = low > 1100.0 ? 1100.0 : low;
  const double t = w + 6755399441055744.0, r = w - (t - 6755399441055744.0);
  const double power = internal::exp2_of_fraction(r),
               result = fma(power * 0.6931471805599453, inside ? v_low : 0.0, power);
  return internal::pow_special(x, y, internal::scale(result, bits_of(t) - internal::double_magic + 2046u));
}
// Integers by squaring, modulo 2^n; a negative exponent gives 0 except for the bases 1 and -1.
template <class T>
CT_DEVICE T pow(T x, T y) {
  typedef typename wide_unsigned<T>::type U;
  U result = 1, base = U(x);
  for (U left = is_negative(y) ? U(y) & 1u : U(y); left != 0; left >>= 1) {
    result = (left & 1u) ? result * base : result;
    base *= base;
  }
  const bool unit = x == T(1) || (is_signed_integer<T> && x == T(-1));
  return is_negative(y) && !unit ? T(0) : T(result);
}

// --- Trigonometry --------------------------------------------------------------------------------

// Reduction of huge arguments is rare and long. Loops on the CPU compute it always and select, so that they vectorise;
// a GPU branches. Both take the same result, so that the bits are equal.
#ifndef CT_RARE
#ifdef __CUDA_ARCH__
#define CT_RARE(condition) if (condition)
#else
#define CT_RARE(condition)
#endif
#endif

namespace internal {

// a = n * pi / 2 + r + low with |r| at most slightly above pi / 4, where `low` is the rounding error of r; only the
// last two bits of n count.
template <class T, class Bits>
struct Quadrant {
  T r, low;
  Bits n;
};

// For a >= 2^16, by the method of Payne and Hanek (1983): a is m 2^(e - 23); of 2 / pi only those 96 bits matter that
// meet m without giving multiples of 4 or parts below 2^-61. Shifts cut them out of the number; the product is taken
// modulo 2^64, in units of 2^-62.
CT_DEVICE Quadrant<float, u32> reduce_large(float a) {
  const u32 bits = bits_of(a), offset = (bits >> 23) - 136u;
  const u64 m = (bits & 0x7fffffu) | 0x800000u;
  // 2 / pi after the binary point, with 16 zero bits in front.
  const bool second = (offset & 64u) != 0;
  const u64 w0 = second ? 0x1529fc2757d1f534ull : 0x0000a2f9836e4e44ull;
  const u64 w1 = second ? 0xddc0db6295993c43ull : 0x1529fc2757d1f534ull;
  const u64 w2 = second ? 0x9041fe5163abdebbull : 0xddc0db6295993c43ull;
  const u64 shift = offset & 63u;
  const u64 high = (w0 << shift) | ((w1 >> 1) >> (63u - shift)), low = (w1 << shift) | ((w2 >> 1) >> (63u - shift));
  const u64 product = m * (high & 0xffffffffu) + ((m * (high >> 32)) << 32) + ((m * (low >> 32)) >> 32);
  const u64 shifted = product + (1ull << 61), rest = (shifted & 0x3fffffffffffffffull) - (1ull << 61);
  // The signed rest in two halves, each exact: 64-bit integers do not convert in every vector unit.
  const double value = fma(double(i32(u32(rest >> 32))), 4294967296.0, small_to_float(rest & 0xffffffffu, 0.0));
  const double angle = value * 3.4061215800865545e-19;  // pi / 2 * 2^-62
  return {float(angle), float(angle - double(float(angle))), u32(shifted >> 62)};
}

CT_DEVICE Quadrant<float, u32> reduce(float a) {
  const float t = fma(a, 0.636619747f, 12582912.0f), n = t - 12582912.0f;
  // pi / 2 in three parts of 24 bits (Cody and Waite 1980); the first step is exact. It gives a multiple of 2^-23, and
  // `second` is a smaller number with finer bits, so that the rounding error of their difference is found exactly
  // (Dekker 1971).
  const float first = fma(n, -1.57079625f, a), second = n * 7.54978942e-08f, r = first - second;
  const float low = fma(n, -5.39030253e-15f, (first - r) - second - fma(n, 7.54978942e-08f, -second));
  const bool large = a >= 65536.0f;
  Quadrant<float, u32> far = {r, low, bits_of(t)};
  CT_RARE(large) far = reduce_large(a);
  return {large ? (a < inf<float>() ? far.r : nan<float>()) : r, large ? far.low : low, large ? far.n : bits_of(t)};
}

// 2 / pi with 64 zero bits in front; the largest exponent reads words 16 to 19.
CT_DEVICE u64 two_over_pi(u32 word) {
  static constexpr u64 words[20] = {
      0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
      0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
      0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
      0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
      0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
  return words[word];
}

// For a >= 2^20, as above with 192 bits of 2 / pi, of whose product with m the upper 128 (modulo 4) are kept.
CT_DEVICE Quadrant<double, u64> reduce_large(double a) {
  const u64 bits = bits_of(a);
  const u32 exponent = u32(bits >> 52), at_least = exponent < 1043u ? 1043u : exponent;  // others are not used
  const u32 offset = (at_least > 2046u ? 2046u : at_least) - 1013u;
  const u64 m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const u32 word = offset >> 6;
  const u64 shift = offset & 63u, back = 63u - shift;
  const u64 w0 = two_over_pi(word), w1 = two_over_pi(word + 1u), w2 = two_over_pi(word + 2u),
            w3 = two_over_pi(word + 3u);
  const u64 high = (w0 << shift) | ((w1 >> 1) >> back), middle = (w1 << shift) | ((w2 >> 1) >> back);
  const u64 low = (w2 << shift) | ((w3 >> 1) >> back);
  const u64 part = m * middle, tail = part + multiply_high(m, low);
  const u64 product = m * high + multiply_high(m, middle) + u64(tail < part);
  const u64 shifted = product + (1ull << 61), rest = (shifted & 0x3fffffffffffffffull) - (1ull << 61);
  // rest + tail / 2^64 as the sum of two doubles, times pi / 2 * 2^-62 in two parts.
  const double upper = double(i32(u32(rest >> 32))) * 4294967296.0;
  const double lower =
      fma(small_to_float(tail >> 12, 0.0), 2.220446049250313e-16, small_to_float(rest & 0xffffffffu, 0.0));
  const double sum = upper + lower, error = lower - (sum - upper);
  const double r = sum * 3.4061215800865545e-19;
  const double lost =
      fma(sum, 3.4061215800865545e-19, -r) + fma(sum, 1.3277647201629795e-35, error * 3.4061215800865545e-19);
  return {r, lost, shifted >> 62};
}

CT_DEVICE Quadrant<double, u64> reduce(double a) {
  const double t = fma(a, 0.6366197723675814, 6755399441055744.0), n = t - 6755399441055744.0;
  const double first = fma(n, -1.5707963267948966, a), second = n * 6.123233995736765e-17, r = first - second;
  const double low = fma(n, -1.082856673921914e-32, (first - r) - second - fma(n, 6.123233995736765e-17, -second));
  const bool large = a >= 1048576.0;
  Quadrant<double, u64> far = {r, low, bits_of(t)};
  CT_RARE(large) far = reduce_large(a);
  return {large ? (a < inf<double>() ? far.r : nan<double>()) : r, large ? far.low : low, large ? far.n : bits_of(t)};
}

// sin and cos of r + low, |r| <= pi / 4 (a little more is covered: r^2 <= 0.62).
CT_DEVICE float sin_of_small(float r, float low) {
  const float z = r * r;
  // sin(r) = r + r z q(z), relative error 2^-28.
  float q = -0.00019517995f;
  q = fma(q, z, 0.008332188f);
  q = fma(q, z, -0.16666655f);
  return r + fma(r * z, q, low);
}
CT_DEVICE float cos_of_small(float r, float low) {
  const float z = r * r;
  // cos(r) = 1 - z / 2 + z^2 q(z), relative error 2^-32.9.
  float q = 2.4432093e-05f;
  q = fma(q, z, -0.0013887308f);
  q = fma(q, z, 0.041666646f);
  return fma(z, -0.5f, 1.0f) + fma(z * z, q, -(r * low));
}
CT_DEVICE double sin_of_small(double r, double low) {
  const double z = r * r;
  // As above, relative error 2^-57.9.
  double q = 1.5895671590838882e-10;
  q = fma(q, z, -2.505073845238476e-08);
  q = fma(q, z, 2.7557313563284196e-06);
  q = fma(q, z, -0.00019841269829421637);
  q = fma(q, z, 0.008333333333321896);
  q = fma(q, z, -0.1666666666666663);
  return r + fma(r * z, q, low);
}
CT_DEVICE double cos_of_small(double r, double low) {
  const double z = r * r;
  // As above, relative error 2^-63.8.
  double q = -1.1357664829715053e-11;
  q = fma(q, z, 2.0875683677470434e-09);
  q = fma(q, z, -2.7557314049622264e-07);
  q = fma(q, z, 2.4801587288385985e-05);
  q = fma(q, z, -0.001388888888887227);
  q = fma(q, z, 0.04166666666666659);
  return fma(z, -0.5, 1.0) + fma(z * z, q, -(r * low));
}

// tan of |r| <= pi / 4.
CT_DEVICE double tan_of_small(double r) {
  const double z = r * r;
  // tan(r) = r + r z q(z), z <= 0.62, relative error 2^-59.9.
  double q = 9.82821984798157e-06;
  q = fma(q, z, -2.4401345254973356e-05);
  q = fma(q, z, 4.888535224116773e-05);
  q = fma(q, z, -2.5922665728761102e-05);
  q = fma(q, z, 6.744199468912163e-05);
  q = fma(q, z, 8.344291004037504e-05);
  q = fma(q, z, 0.00024379441355396343);
  q = fma(q, z, 0.000588853007440877);
  q = fma(q, z, 0.0014560477502036204);
  q = fma(q, z, 0.0035921005890591066);
  q = fma(q, z, 0.008863237948202062);
  q = fma(q, z, 0.0218694883979014);
  q = fma(q, z, 0.05396825397294532);
  q = fma(q, z, 0.13333333333325292);
  q = fma(q, z, 0.3333333333333338);
  return fma(r * z, q, r);
}

CT_DEVICE float change_sign(float x, bool change) { return float_from_bits(bits_of(x) ^ (change ? 0x80000000u : 0u)); }
CT_DEVICE double change_sign(double x, bool change) {
  return double_from_bits(bits_of(x) ^ (change ? 0x8000000000000000ull : 0ull));
}

// asin(a) = a + a z q(z) for z = a^2 <= 0.25, given z.
CT_DEVICE float asin_factor(float z) {
  // Relative error of asin 2^-27.6.
  float q = 0.042163566f;
  q = fma(q, z, 0.024182333f);
  q = fma(q, z, 0.0454695f);
  q = fma(q, z, 0.07495308f);
  q = fma(q, z, 0.16666752f);
  return q * z;
}
CT_DEVICE double asin_factor(double z) {
  // Relative error of asin 2^-55.9.
  double q = 0.03193075173029257;
  q = fma(q, z, -0.01625057757346788);
  q = fma(q, z, 0.019544625648670037);
  q = fma(q, z, 0.00652215165433112);
  q = fma(q, z, 0.012170521861719727);
  q = fma(q, z, 0.01388504149953312);
  q = fma(q, z, 0.0173597238346983);
  q = fma(q, z, 0.02237175682255889);
  q = fma(q, z, 0.030381959186742538);
  q = fma(q, z, 0.0446428568271501);
  q = fma(q, z, 0.07500000000338423);
  q = fma(q, z, 0.16666666666665403);
  return q * z;
}

// atan(t) for t in [0, 1].
CT_DEVICE float atan_of_small(float t) {
  const float z = t * t;
  // atan(t) = t + t z q(z), relative error 2^-28.5.
  float q = -0.0017900789f;
  q = fma(q, z, 0.010898392f);
  q = fma(q, z, -0.031146837f);
  q = fma(q, z, 0.057925496f);
  q = fma(q, z, -0.08401505f);
  q = fma(q, z, 0.10951489f);
  q = fma(q, z, -0.14264101f);
  q = fma(q, z, 0.19998534f);
  q = fma(q, z, -0.333333f);
  return fma(t * z, q, t);
}
CT_DEVICE double atan_of_small(double t) {
  const double z = t * t;
  // As above, relative error 2^-57.6.
  double q = 1.3206899826723887e-05;
  q = fma(q, z, -0.00015197849652242969);
  q = fma(q, z, 0.0008304752961003347);
  q = fma(q, z, -0.0028825064281807265);
  q = fma(q, z, 0.007191784018557652);
  q = fma(q, z, -0.013893839779637651);
  q = fma(q, z, 0.021977649613397737);
  q = fma(q, z, -0.029897929022565405);
  q = fma(q, z, 0.036638121635683106);
  q = fma(q, z, -0.042189900956132766);
  q = fma(q, z, 0.047222488724612516);
  q = fma(q, z, -0.052534964923392054);
  q = fma(q, z, 0.058805227339240165);
  q = fma(q, z, -0.0666640317740804);
  q = fma(q, z, 0.0769227972753735);
  q = fma(q, z, -0.0909090699297465);
  q = fma(q, z, 0.11111111006426622);
  q = fma(q, z, -0.14285714282553144);
  q = fma(q, z, 0.19999999999951037);
  q = fma(q, z, -0.33333333333333065);
  return fma(t * z, q, t);
}

// Constants in two parts, where the lower one is the rounding error of the upper one.
CT_DEVICE float half_pi(float) { return 1.57079637f; }
CT_DEVICE double half_pi(double) { return 1.5707963267948966; }
CT_DEVICE float half_pi_low(float) { return -4.37113883e-08f; }
CT_DEVICE double half_pi_low(double) { return 6.123233995736766e-17; }

}  // namespace internal

template <class T>
CT_DEVICE T sin(T x) {
  const auto q = internal::reduce(abs(x));
  const T value = (q.n & 1u) ? internal::cos_of_small(q.r, q.low) : internal::sin_of_small(q.r, q.low);
  return internal::change_sign(value, ((q.n & 2u) != 0) != (internal::with_sign_of(T(1), x) < T(0)));
}
template <class T>
CT_DEVICE T cos(T x) {
  const auto q = internal::reduce(abs(x));
  const T value = (q.n & 1u) ? internal::sin_of_small(q.r, q.low) : internal::cos_of_small(q.r, q.low);
  return internal::change_sign(value, ((q.n + 1u) & 2u) != 0);
}
CT_DEVICE double tan(double x) {
  const auto q = internal::reduce(abs(x));
  const double t = internal::tan_of_small(q.r + q.low);
  return internal::change_sign((q.n & 1u) ? -1.0 / t : t, internal::with_sign_of(1.0, x) < 0.0);
}
// The float versions of the rarer functions are the double ones, rounded: as good as exact, and no second text.
CT_DEVICE float tan(float x) { return float(tan(double(x))); }

// Beyond 1/2: asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)).
template <class T>
CT_DEVICE T asin(T x) {
  const T a = abs(x);
  const bool large = a > T(0.5);
  const T z = large ? fma(a, T(-0.5), T(0.5)) : a * a, s = large ? sqrt(z) : a;
  const T factor = internal::asin_factor(z), twice = T(2) * s;
  const T outer = internal::half_pi(x) - twice, lost = (internal::half_pi(x) - outer) - twice;
  const T result = outer - (fma(twice, factor, -internal::half_pi_low(x)) - lost);
  return internal::with_sign_of(large ? result : fma(s, factor, s), x);
}
template <class T>
CT_DEVICE T acos(T x) {
  const T a = abs(x);
  const bool large = a > T(0.5);
  const T z = large ? fma(a, T(-0.5), T(0.5)) : a * a, s = large ? sqrt(z) : a;
  const T small = fma(s, internal::asin_factor(z), s), twice = T(2) * small;
  const T outer = x < T(0) ? T(2) * internal::half_pi(x) - (twice - T(2) * internal::half_pi_low(x)) : twice;
  return large ? outer : internal::half_pi(x) - (internal::with_sign_of(small, x) - internal::half_pi_low(x));
}

template <class T>
CT_DEVICE T atan(T x) {
  const T a = abs(x);
  const bool large = a > T(1);
  const T small = internal::atan_of_small(large ? T(1) / a : a);
  return internal::with_sign_of(large ? internal::half_pi(x) - (small - internal::half_pi_low(x)) : small, x);
}

// The angle of the point (x, y), with C's values at zeros and infinities.
template <class T>
CT_DEVICE T atan2(T y, T x) {
  const T a = abs(y), b = abs(x), large = a > b ? a : b, small = a > b ? b : a;
  const T ratio = small == large ? (large == T(0) ? T(0) : T(1)) : small / large;
  const T octant = internal::atan_of_small(ratio);
  const T quarter = a > b ? internal::half_pi(x) - (octant - internal::half_pi_low(x)) : octant;
  const bool left = internal::with_sign_of(T(1), x) < T(0);
  const T angle = left ? T(2) * internal::half_pi(x) - (quarter - T(2) * internal::half_pi_low(x)) : quarter;
  return x != x || y != y ? nan<T>() : internal::with_sign_of(angle, y);
}

// --- Hyperbolic functions ------------------------------------------------------------------------

namespace internal {

// exp(a) / 2 for a >= 0, which overflows where sinh and cosh do.
CT_DEVICE float half_exp(float a) {
  const auto parts = exp_parts(a > 90.0f ? 90.0f : a);
  return scale(1.0f + parts.expm1_r, parts.n_bits - float_magic + 253u);
}
CT_DEVICE double half_exp(double a) {
  const auto parts = exp_parts(a > 711.0 ? 711.0 : a);
  return scale(1.0 + parts.expm1_r, parts.n_bits - double_magic + 2045u);
}

CT_DEVICE float sinh_of_small(float a) {
  const float z = a * a;
  // sinh(a) = a + a z q(z) on [0, 1], relative error 2^-31.4.
  float q = 2.7899996e-06f;
  q = fma(q, z, 0.00019841664f);
  q = fma(q, z, 0.008333315f);
  q = fma(q, z, 0.16666667f);
  return fma(a * z, q, a);
}
CT_DEVICE double sinh_of_small(double a) {
  const double z = a * a;
  // As above, relative error 2^-61.5.
  double q = 7.766116412325065e-13;
  q = fma(q, z, 1.6056993221180025e-10);
  q = fma(q, z, 2.505212694965765e-08);
  q = fma(q, z, 2.755731912980846e-06);
  q = fma(q, z, 0.0001984126984153284);
  q = fma(q, z, 0.008333333333332969);
  q = fma(q, z, 0.16666666666666669);
  return fma(a * z, q, a);
}

}  // namespace internal

template <class T>
CT_DEVICE T sinh(T x) {
  const T a = abs(x), half = internal::half_exp(a);
  return internal::with_sign_of(a < T(1) ? internal::sinh_of_small(a) : half - T(0.25) / half, x);
}
template <class T>
CT_DEVICE T cosh(T x) {
  const T half = internal::half_exp(abs(x));
  return half + T(0.25) / half;
}

CT_DEVICE double asinh(double x) {
  const double a = abs(x);
  const bool large = a > 268435456.0;  // a^2 + 1 is a^2
  const double u = large ? a - 1.0 : a + a * a / (1.0 + sqrt(fma(a, a, 1.0)));
  const double result = internal::log1p_regular(u) + (large ? 0.6931471805599453 : 0.0);
  return a < inf<double>() ? internal::with_sign_of(a < 1e-9 ? a : result, x) : x;
}
CT_DEVICE float asinh(float x) { return float(asinh(double(x))); }

CT_DEVICE double acosh(double x) {
  const double t = x - 1.0;
  const bool large = x > 268435456.0;
  const double u = large ? t : t + sqrt(t * (t + 2.0));
  const double result = internal::log1p_regular(u) + (large ? 0.6931471805599453 : 0.0);
  return x < 1.0 ? nan<double>() : x < inf<double>() ? result : x;
}
CT_DEVICE float acosh(float x) { return float(acosh(double(x))); }

CT_DEVICE double atanh(double x) {
  const double a = abs(x), u = 2.0 * a / (1.0 - a);
  const double result = a < 1e-9 ? a : 0.5 * internal::log1p_regular(u);
  return a > 1.0 || x != x ? nan<double>() : internal::with_sign_of(a == 1.0 ? inf<double>() : result, x);
}
CT_DEVICE float atanh(float x) { return float(atanh(double(x))); }

// --- Roots and error functions -------------------------------------------------------------------

// A polynomial on [1, 2), the cube root of the remainder of the exponent, and one Newton step, whose residual is exact
// to 106 bits.
CT_DEVICE double cbrt(double x) {
  const double a = abs(x);
  const bool denormal = a < 2.2250738585072014e-308;
  const double normal = denormal ? a * 18014398509481984.0 : a;  // 2^54, a cube
  const u64 bits = bits_of(normal);
  const u32 exponent = u32(bits >> 52), third = exponent / 3u, left = exponent - 3u * third;  // 1023 is a multiple of 3
  const double t = double_from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull) - 1.0;
  // cbrt(1 + t) on [0, 1], relative error 2^-28.
  double y = -0.0009100096036056602;
  y = fma(y, t, 0.005171573642902568);
  y = fma(y, t, -0.014033515228325417);
  y = fma(y, t, 0.025818504254388763);
  y = fma(y, t, -0.039876328351832434);
  y = fma(y, t, 0.06151016648224792);
  y = fma(y, t, -0.11109203589961449);
  y = fma(y, t, 0.3333326865089538);
  y = fma(y, t, 1.00000000360169);
  const double v = double_from_bits((bits & 0xfffffffffffffull) | (u64(1023u + left) << 52));  // in [1, 8)
  y = left == 0 ? y : left == 1 ? y * 1.2599210498948732 : y * 1.5874010519681994;
  const double square = y * y, residual = fma(square, y, -v) + fma(y, y, -square) * y;
  y = fma(residual * y / v, -0.3333333333333333, y);
  const double root = y * internal::power_of_two(u64(third + (denormal ? 664u : 682u)));
  return a > 0.0 && a < inf<double>() ? internal::with_sign_of(root, x) : x;
}
CT_DEVICE float cbrt(float x) { return float(cbrt(double(x))); }

CT_DEVICE float erf(float x) {
  const float a = abs(x), z = a * a, c = (a > 3.9375f ? 3.9375f : a) - 2.4375f;
  // erf(a) = a + a q(z) on [0, 1], relative error 2^-29.3.
  float q = 7.846108e-05f;
  q = fma(q, z, -0.0008007878f);
  q = fma(q, z, 0.005188074f);
  q = fma(q, z, -0.026853692f);
  q = fma(q, z, 0.11283583f);
  q = fma(q, z, -0.37612626f);
  q = fma(q, z, 0.12837917f);
  // erf(c + 2.4375) = p(c) on [1, 3.9375], absolute error 2^-26.9.
  float p = 1.0522919e-06f;
  p = fma(p, c, -2.5571848e-07f);
  p = fma(p, c, -1.7018467e-05f);
  p = fma(p, c, 2.9423974e-05f);
  p = fma(p, c, 6.8358284e-05f);
  p = fma(p, c, -0.00031604414f);
  p = fma(p, c, 0.0004192487f);
  p = fma(p, c, 0.000389821f);
  p = fma(p, c, -0.0030048133f);
  p = fma(p, c, 0.007200649f);
  p = fma(p, c, -0.01070144f);
  p = fma(p, c, 0.010759843f);
  p = fma(p, c, -0.0072291237f);
  p = fma(p, c, 0.0029656834f);
  p = fma(p, c, 0.99943346f);
  return internal::with_sign_of(a < 1.0f ? fma(a, q, a) : p, x);
}
namespace internal {
// erf(x) = x + x q(x^2) where |x| <= 1.25, relative error 2^-56.4.
CT_DEVICE double erf_near_zero(double x) {
  const double z = x * x;
  double q = -3.3409288075474072e-12;
  q = fma(q, z, 8.020810604074436e-11);
  q = fma(q, z, -1.1927817347783353e-09);
  q = fma(q, z, 1.4744917075889387e-08);
  q = fma(q, z, -1.635853166340524e-07);
  q = fma(q, z, 1.6461523338592768e-06);
  q = fma(q, z, -1.4925618067232533e-05);
  q = fma(q, z, 0.00012055331854095549);
  q = fma(q, z, -0.0008548327002113072);
  q = fma(q, z, 0.005223977625389326);
  q = fma(q, z, -0.026866170645193834);
  q = fma(q, z, 0.11283791670956289);
  q = fma(q, z, -0.37612638903183826);
  q = fma(q, z, 0.1283791670955126);
  return fma(x, q, x);
}
}  // namespace internal

CT_DEVICE double erf(double x) {
  const double a = abs(x), c = (a > 5.9375 ? 5.9375 : a) - 3.59375;
  // erf(c + 3.59375) = p(c) on [1.25, 5.9375], absolute error 2^-56.1.
  double p = -1.2576425848039526e-19;
  p = fma(p, c, 3.557571537425516e-19);
  p = fma(p, c, 6.8225125406631425e-18);
  p = fma(p, c, -2.6403406625051796e-17);
  p = fma(p, c, -1.4272620119879373e-16);
  p = fma(p, c, 8.517495988431674e-16);
  p = fma(p, c, 7.159958048329466e-16);
  p = fma(p, c, -1.4206361379401435e-14);
  p = fma(p, c, 2.791192617632444e-14);
  p = fma(p, c, 8.451505938711986e-14);
  p = fma(p, c, -6.019769533901041e-13);
  p = fma(p, c, 1.2182622273735863e-12);
  p = fma(p, c, 2.547675304118972e-12);
  p = fma(p, c, -2.4544752378396363e-11);
  p = fma(p, c, 6.466960915606368e-11);
  p = fma(p, c, 2.75422667607593e-11);
  p = fma(p, c, -7.909419584011628e-10);
  p = fma(p, c, 2.7304274700161992e-09);
  p = fma(p, c, -2.8548866559019817e-09);
  p = fma(p, c, -1.3808187059190062e-08);
  p = fma(p, c, 7.762731090243757e-08);
  p = fma(p, c, -1.8891025711083801e-07);
  p = fma(p, c, 1.4680856775675124e-07);
  p = fma(p, c, 7.639942839941178e-07);
  p = fma(p, c, -3.989109966397003e-06);
  p = fma(p, c, 1.1259880250595269e-05);
  p = fma(p, c, -2.3084596128103584e-05);
  p = fma(p, c, 3.690378012986027e-05);
  p = fma(p, c, -4.699867258213374e-05);
  p = fma(p, c, 4.7685898500117564e-05);
  p = fma(p, c, -3.7968974741212814e-05);
  p = fma(p, c, 2.298167571254783e-05);
  p = fma(p, c, -9.978671434561384e-06);
  p = fma(p, c, 2.7766737905221908e-06);
  p = fma(p, c, 0.9999996271670344);
  return internal::with_sign_of(a < 1.25 ? internal::erf_near_zero(a) : p, x);
}

// exp(-a^2) q(t) / (1 + 2 a) with t = (a - 4) / (a + 4), the form of Shepherd and Laframboise (1981); 1 - erf(x) where
// |x| is small.
CT_DEVICE double erfc(double x) {
  const double a = abs(x) > 28.0 ? 28.0 : abs(x), z = a * a, z_low = fma(a, a, -z);
  const double t = (a - 4.0) / (a + 4.0);
  // Relative error 2^-54.4.
  double q = -1.5693179330088995e-09;
  q = fma(q, t, -1.2967068689441393e-08);
  q = fma(q, t, -7.868043956792678e-09);
  q = fma(q, t, 1.1335837369197975e-07);
  q = fma(q, t, 6.187515989067926e-08);
  q = fma(q, t, -8.327759837865886e-07);
  q = fma(q, t, 3.029741379795586e-07);
  q = fma(q, t, 5.716311687582976e-06);
  q = fma(q, t, -1.1226161869507455e-05);
  q = fma(q, t, -2.4402544759867757e-05);
  q = fma(q, t, 0.0001506229072786236);
  q = fma(q, t, -0.000199255659258915);
  q = fma(q, t, -0.0007577735381367706);
  q = fma(q, t, 0.005031969778026984);
  q = fma(q, t, -0.01619773402306287);
  q = fma(q, t, 0.0371675155606708);
  q = fma(q, t, -0.066330365815464);
  q = fma(q, t, 0.09373283499686914);
  q = fma(q, t, -0.10103906603611833);
  q = fma(q, t, 0.06809705425473607);
  q = fma(q, t, 0.01537965210261446);
  q = fma(q, t, -0.1396211168405629);
  q = fma(q, t, 1.2329951186255526);
  const double power = internal::exp_of_negative(-z);
  const double tail = fma(power, -z_low, power) * (q / fma(2.0, a, 1.0));
  const double both = x < 0.0 ? 2.0 - tail : tail;
  return abs(x) < 0.5 ? 1.0 - internal::erf_near_zero(x) : x == x ? both : x;
}
CT_DEVICE float erfc(float x) { return float(erfc(double(x))); }

}  // namespace ct
#endif
