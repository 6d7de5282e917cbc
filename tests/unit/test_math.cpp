// The number types and the mathematics of generated kernels, compiled here for the host: accuracy against long double
// in ULP, special values exactly, conversions exhaustively. The same text runs on every device, so the results are
// valid for all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

// Each of the three headers needs those before it, as in the text of a kernel.
// clang-format off
#include "codegen_templates/cpu/device_cpu.hpp"
#include "codegen_templates/common/numeric.cuh"
#include "codegen_templates/common/math.cuh"
// clang-format on
#include "tests/catch.hpp"

namespace {

// --- Points and errors ---------------------------------------------------------------------------

class Random {
 public:
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  double between(double low, double high) { return low + (high - low) * double(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

template <class T>
T from_bits(std::uint64_t bits) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits narrow = static_cast<Bits>(bits);
  T x;
  std::memcpy(&x, &narrow, sizeof x);
  return x;
}

// Equal values, with the sign of zero; all nans are equal.
template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// The distance in units of the last place of T at the exact value; overflow counts from the first value that is out of
// range.
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent - digits;
  int exponent = 0;
  std::frexp(exact, &exponent);
  if (std::isinf(exact) || exponent > std::numeric_limits<T>::max_exponent) {
    if (static_cast<long double>(got) == static_cast<long double>(static_cast<T>(exact))) return 0;
    exact = std::copysign(std::ldexp(1.0L, std::numeric_limits<T>::max_exponent), exact);
    exponent = std::numeric_limits<T>::max_exponent;
  }
  const long double ulp = std::ldexp(1.0L, std::max(exponent - digits, lowest));
  // inf counts as 2^max_exponent, as in rounding.
  const long double value =
      std::isinf(got) ? std::copysign(std::ldexp(1.0L, std::numeric_limits<T>::max_exponent), got) : got;
  return static_cast<double>(std::fabs(value - exact) / ulp);
}

constexpr int points = 200000;

// A third of the points are random bit patterns, a third are in [low, high], a third in [-4, 4], most of them near 0.
template <class T>
T point(Random& random, int i, double low, double high) {
  if (i % 3 == 0) return from_bits<T>(random.bits());
  if (i % 3 == 1) return static_cast<T>(random.between(low, high));
  return static_cast<T>(random.between(-2, 2) * std::exp2(random.between(-12, 1)));
}

template <class T>
void check_unary(const std::string& name, T (*function)(T), long double (*exact)(long double), double low, double high,
                 double bound) {
  Random random;
  double worst = 0;
  T at = 0;
  for (int i = 0; i < points; ++i) {
    const T x = point<T>(random, i, low, high);
    const double error = ulps(function(x), exact(static_cast<long double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  INFO(name << (sizeof(T) == 4 ? " of float" : " of double") << ": " << worst << " ULP at " << at);
  CHECK(worst <= bound);
}

template <class T>
void check_binary(const std::string& name, T (*function)(T, T), long double (*exact)(long double, long double),
                  double low, double high, double bound) {
  Random random;
  double worst = 0;
  T at = 0, and_at = 0;
  for (int i = 0; i < points; ++i) {
    const T x = point<T>(random, i, low, high), y = point<T>(random, i / 3, -8, 8);
    const double error = ulps(function(x, y), exact(static_cast<long double>(x), static_cast<long double>(y)));
    if (error > worst) {
      worst = error;
      at = x;
      and_at = y;
    }
  }
  INFO(name << (sizeof(T) == 4 ? " of float" : " of double") << ": " << worst << " ULP at " << at << ", " << and_at);
  CHECK(worst <= bound);
}

long double exact_sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double exact_softplus(long double x) { return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))) + (x - x); }
long double exact_rsqrt(long double x) { return 1 / std::sqrt(x); }

struct Unary {
  const char* name;
  float (*of_float)(float);
  double (*of_double)(double);
  long double (*exact)(long double);
  double low, high;                // the interval where the function is interesting
  double float_ulps, double_ulps;  // the guarantees of math.cuh
};

struct Binary {
  const char* name;
  float (*of_float)(float, float);
  double (*of_double)(double, double);
  long double (*exact)(long double, long double);
  double low, high;
  double float_ulps, double_ulps;
};

using L = long double;

#define UNARY(name, exact, low, high, float_ulps, double_ulps) \
  {#name,                                                      \
   [](float x) { return ct::name(x); },                        \
   [](double x) { return ct::name(x); },                       \
   [](L x) -> L { return exact; },                             \
   low,                                                        \
   high,                                                       \
   float_ulps,                                                 \
   double_ulps}
#define BINARY(name, exact, low, high, float_ulps, double_ulps) \
  {#name,                                                       \
   [](float x, float y) { return ct::name(x, y); },             \
   [](double x, double y) { return ct::name(x, y); },           \
   [](L x, L y) -> L { return exact; },                         \
   low,                                                         \
   high,                                                        \
   float_ulps,                                                  \
   double_ulps}

// The guarantees of math.cuh, in ULP: function, exact value, interval, float, double.
const Unary unary_table[] = {
    UNARY(exp, std::exp(x), -110, 92, 0.9, 0.9),
    UNARY(exp2, std::exp2(x), -152, 130, 0.9, 0.9),
    UNARY(expm1, std::expm1(x), -20, 90, 1.5, 1.7),
    UNARY(log, std::log(x), 0, 10, 0.9, 0.9),
    UNARY(log2, std::log2(x), 0, 10, 1.0, 1.1),
    UNARY(log10, std::log10(x), 0, 10, 1.0, 1.0),
    UNARY(log1p, std::log1p(x), -1, 10, 1.6, 1.5),
    UNARY(sigmoid, exact_sigmoid(x), -110, 20, 2.0, 2.0),
    UNARY(softplus, exact_softplus(x), -110, 20, 2.0, 2.0),
    UNARY(sin, std::sin(x), -1e4, 1e4, 1.7, 1.7),
    UNARY(cos, std::cos(x), -1e4, 1e4, 1.7, 1.7),
    UNARY(tan, std::tan(x), -1e4, 1e4, 0.51, 2.6),
    UNARY(asin, std::asin(x), -1, 1, 1.3, 1.3),
    UNARY(acos, std::acos(x), -1, 1, 1.3, 1.3),
    UNARY(atan, std::atan(x), -10, 10, 1.5, 1.5),
    UNARY(sinh, std::sinh(x), -90, 90, 1.8, 1.8),
    UNARY(cosh, std::cosh(x), -90, 90, 1.5, 1.5),
    UNARY(tanh, std::tanh(x), -10, 10, 1.6, 1.5),
    UNARY(asinh, std::asinh(x), -1e9, 1e9, 0.51, 2.0),
    UNARY(acosh, std::acosh(x), 1, 1e9, 0.51, 2.0),
    UNARY(atanh, std::atanh(x), -1, 1, 0.51, 2.0),
    UNARY(erf, std::erf(x), -6, 6, 1.2, 1.7),
    UNARY(erfc, std::erfc(x), -6, 28, 0.51, 4.0),
    UNARY(cbrt, std::cbrt(x), -30, 30, 0.51, 0.8),
    UNARY(rsqrt, exact_rsqrt(x), 0, 10, 1.5, 1.5),
    UNARY(reciprocal, 1 / x, -10, 10, 0.5, 0.51),
};
const Binary binary_table[] = {
    BINARY(pow, std::pow(x, y), 0, 20, 0.51, 1.5),
    BINARY(atan2, std::atan2(x, y), -20, 20, 2.0, 2.0),
    BINARY(true_divide, x / y, -20, 20, 0.5, 0.51),
};

}  // namespace

TEST_CASE("functions of generated kernels keep their error bounds", "[math]") {
  for (const Unary& row : unary_table) {
    check_unary<float>(row.name, row.of_float, row.exact, row.low, row.high, row.float_ulps);
    check_unary<double>(row.name, row.of_double, row.exact, row.low, row.high, row.double_ulps);
  }
  for (const Binary& row : binary_table) {
    check_binary<float>(row.name, row.of_float, row.exact, row.low, row.high, row.float_ulps);
    check_binary<double>(row.name, row.of_double, row.exact, row.low, row.high, row.double_ulps);
  }
}

TEST_CASE("a power near the ends of the range is as good as elsewhere", "[math]") {
  Random random;
  double worst_float = 0, worst_double = 0;
  for (int i = 0; i < points; ++i) {
    const double x = i % 2 ? std::exp2(random.between(-30, 30)) : random.between(0.5, 1.5);
    const double y = random.between(-1, 1) * 740 / std::fabs(std::log(x));
    worst_double = std::max(worst_double, ulps(ct::pow(x, y), std::pow(L(x), L(y))));
    const float a = static_cast<float>(x), b = static_cast<float>(y / 7);
    worst_float = std::max(worst_float, ulps(ct::pow(a, b), std::pow(L(a), L(b))));
  }
  CHECK(worst_float <= 0.51);
  CHECK(worst_double <= 1.5);
}

TEMPLATE_TEST_CASE("trigonometry is right for huge arguments", "[math]", float, double) {
  using T = TestType;
  Random random;
  double worst = 0;
  for (int i = 0; i < points; ++i) {
    const T x = static_cast<T>(std::ldexp(random.between(-2, 2), 14 + i % (std::numeric_limits<T>::max_exponent - 16)));
    worst = std::max({worst, ulps(ct::sin(x), std::sin(L(x))), ulps(ct::cos(x), std::cos(L(x)))});
  }
  CHECK(worst <= 1.7);
  const T highest = std::numeric_limits<T>::max();
  CHECK(ulps(ct::sin(highest), std::sin(L(highest))) <= 1.7);
  CHECK(ulps(ct::cos(-highest), std::cos(L(highest))) <= 1.7);
  // The double nearest to a multiple of pi / 2 (Kahan): 6381956970095103 * 2^797, cosine -4.68716592425462761112e-19.
  CHECK(ulps(ct::cos(std::ldexp(6381956970095103.0, 797)), -4.68716592425462761112e-19L) <= 1.7);
}

// --- Special values ------------------------------------------------------------------------------

TEMPLATE_TEST_CASE("special values of functions are exact", "[math]", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(), zero = 0;
  const T denormal = std::numeric_limits<T>::denorm_min(), highest = std::numeric_limits<T>::max();
  struct Case {
    const char* name;
    T got, expected;
  };
#define CASE(call, expected) {#call, ct::call, expected}
  const Case cases[] = {
      CASE(exp(-inf), zero),
      CASE(exp(inf), inf),
      CASE(exp(-zero), 1),
      CASE(exp(highest), inf),
      CASE(exp(-highest), zero),
      CASE(exp2(-inf), zero),
      CASE(exp2(inf), inf),
      CASE(exp2(T(3)), 8),
      CASE(exp2(T(-3)), T(0.125)),
      CASE(expm1(-inf), -1),
      CASE(expm1(inf), inf),
      CASE(expm1(-zero), -zero),
      CASE(expm1(denormal), denormal),
      CASE(log(zero), -inf),
      CASE(log(-zero), -inf),
      CASE(log(T(1)), zero),
      CASE(log(T(-1)), nan),
      CASE(log(inf), inf),
      CASE(log(-inf), nan),
      CASE(log2(zero), -inf),
      CASE(log2(T(1024)), 10),
      CASE(log2(denormal), T(sizeof(T) == 4 ? -149 : -1074)),
      CASE(log2(inf), inf),
      CASE(log10(zero), -inf),
      CASE(log10(T(1000)), 3),
      CASE(log10(inf), inf),
      CASE(log10(T(-1)), nan),
      CASE(log1p(T(-1)), -inf),
      CASE(log1p(T(-2)), nan),
      CASE(log1p(-zero), -zero),
      CASE(log1p(inf), inf),
      CASE(log1p(denormal), denormal),
      CASE(sin(-zero), -zero),
      CASE(sin(zero), zero),
      CASE(sin(inf), nan),
      CASE(sin(-inf), nan),
      CASE(sin(denormal), denormal),
      CASE(cos(-zero), 1),
      CASE(cos(inf), nan),
      CASE(tan(-zero), -zero),
      CASE(tan(inf), nan),
      CASE(tan(-denormal), -denormal),
      CASE(asin(-zero), -zero),
      CASE(asin(T(2)), nan),
      CASE(asin(denormal), denormal),
      CASE(acos(T(1)), zero),
      CASE(acos(T(-1.5)), nan),
      CASE(atan(-zero), -zero),
      CASE(atan(inf), T(1.57079632679489661923L)),
      CASE(atan(-inf), T(-1.57079632679489661923L)),
      CASE(sinh(-zero), -zero),
      CASE(sinh(-inf), -inf),
      CASE(sinh(denormal), denormal),
      CASE(cosh(-inf), inf),
      CASE(cosh(zero), 1),
      CASE(tanh(-zero), -zero),
      CASE(tanh(inf), 1),
      CASE(tanh(-inf), -1),
      CASE(tanh(denormal), denormal),
      CASE(tanh(highest), 1),
      CASE(asinh(-zero), -zero),
      CASE(asinh(-inf), -inf),
      CASE(asinh(denormal), denormal),
      CASE(acosh(T(1)), zero),
      CASE(acosh(T(0.5)), nan),
      CASE(acosh(inf), inf),
      CASE(atanh(-zero), -zero),
      CASE(atanh(T(1)), inf),
      CASE(atanh(T(-1)), -inf),
      CASE(atanh(T(2)), nan),
      CASE(erf(-zero), -zero),
      CASE(erf(inf), 1),
      CASE(erf(-inf), -1),
      CASE(erfc(inf), zero),
      CASE(erfc(-inf), 2),
      CASE(erfc(zero), 1),
      CASE(sigmoid(inf), 1),
      CASE(sigmoid(-inf), zero),
      CASE(sigmoid(zero), T(0.5)),
      CASE(softplus(-inf), zero),
      CASE(softplus(inf), inf),
      CASE(softplus(highest), highest),
      CASE(cbrt(-zero), -zero),
      CASE(cbrt(-inf), -inf),
      CASE(cbrt(T(-27)), -3),
      CASE(cbrt(T(64)), 4),
      CASE(rsqrt(zero), inf),
      CASE(rsqrt(inf), zero),
      CASE(rsqrt(T(-1)), nan),
      CASE(rsqrt(T(4)), T(0.5)),
      CASE(sgn(T(-3)), -1),
      CASE(sgn(-zero), -zero),
      CASE(sgn(nan), nan),
      CASE(sqr(T(-3)), 9),
      CASE(pow(T(12), T(1)), 12),
      CASE(pow(-zero, T(1)), -zero),
      CASE(maximum(nan, T(1)), nan),
      CASE(maximum(T(1), nan), nan),
      CASE(minimum(nan, T(1)), nan),
      CASE(minimum(T(1), nan), nan),
      CASE(maximum(T(2), T(1)), 2),
      CASE(minimum(T(2), T(1)), 1),
      CASE(maximum(-inf, T(1)), 1),
      CASE(minimum(inf, T(1)), 1),
      CASE(clip(T(5), T(0), T(3)), 3),
      CASE(clip(T(-5), T(0), T(3)), zero),
      CASE(clip(nan, T(0), T(3)), nan),
      CASE(round_half_even(T(0.5)), zero),
      CASE(round_half_even(T(2.5)), 2),
      CASE(round_half_even(T(-0.5)), -zero),
      CASE(round_half_away(T(0.5)), 1),
      CASE(round_half_away(T(-2.5)), -3),
      CASE(round_half_away(std::nextafter(T(0.5), zero)), zero),
      CASE(round_half_away(T(-0.25)), -zero),
      CASE(round_half_away(inf), inf),
      CASE(round_half_away(highest), highest),
      CASE(deg2rad(T(180)), T(3.14159265358979323846L)),
      CASE(rad2deg(T(1)), T(57.295779513082320877L)),
      CASE(floor_divide(T(5.5), zero), inf),
      CASE(floor_divide(T(-5.5), zero), -inf),
      CASE(floor_divide(zero, zero), nan),
      CASE(floor_divide(T(7), T(-2)), -4),
      CASE(floor_divide(T(-7), T(2)), -4),
      CASE(floor_divide(T(-5.5), inf), -1),
      CASE(floor_divide(T(5.5), inf), zero),
      CASE(floor_divide(inf, T(2)), nan),
      CASE(mod(T(5.5), zero), nan),
      CASE(mod(T(7), T(-2)), -1),
      CASE(mod(T(-7), T(2)), 1),
      CASE(mod(T(5.5), inf), T(5.5)),
      CASE(mod(T(-5.5), inf), inf),
      CASE(mod(inf, T(2)), nan),
      CASE(mod(T(4), T(-2)), -zero),
      CASE(mod(T(1), nan), nan),
  };
#undef CASE
  for (const Case& c : cases) {
    INFO(c.name << " is " << c.got << ", expected " << c.expected);
    CHECK(same(c.got, c.expected));
  }
  for (const Unary& row : unary_table) {
    INFO(row.name << " of nan");
    if constexpr (sizeof(T) == 4)
      CHECK(std::isnan(row.of_float(nan)));
    else
      CHECK(std::isnan(row.of_double(nan)));
  }
  CHECK(ct::isnan(nan));
  CHECK_FALSE(ct::isnan(inf));
  CHECK(ct::isinf(-inf));
  CHECK_FALSE(ct::isinf(highest));
}

TEMPLATE_TEST_CASE("pow and atan2 have C's values at special points", "[math]", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
          tiny = std::numeric_limits<T>::denorm_min();
  const T highest = std::numeric_limits<T>::max();
  const T values[] = {0,      -T(0),  1,       -1,  T(0.5), T(-0.5), 2,    -2,    3,       -3,
                      T(2.5), T(1e9), T(-1e9), inf, -inf,   nan,     tiny, -tiny, highest, -highest};
  for (const T x : values) {
    for (const T y : values) {
      INFO(x << ", " << y);
      const T power = ct::pow(x, y), angle = ct::atan2(x, y);
      CHECK(ulps(power, static_cast<long double>(std::pow(x, y))) <= 2);
      CHECK((std::isnan(power) || std::signbit(power) == std::signbit(std::pow(x, y))));
      CHECK(ulps(angle, static_cast<long double>(std::atan2(x, y))) <= 2);
      CHECK((std::isnan(angle) || std::signbit(angle) == std::signbit(std::atan2(x, y))));
    }
  }
}

TEMPLATE_TEST_CASE("the float remainder is exact and agrees with the quotient", "[math]", float, double) {
  using T = TestType;
  Random random;
  int wrong = 0;
  for (int i = 0; i < points; ++i) {
    const bool wild = i % 16 == 0;
    const T x = wild ? from_bits<T>(random.bits()) : static_cast<T>(random.between(-1e6, 1e6));
    const T y = wild ? from_bits<T>(random.bits()) : static_cast<T>(random.between(-30, 30));
    T expected = std::fmod(x, y), whole = (x - expected) / y;
    if (expected != 0 && (expected < 0) != (y < 0)) {
      expected += y;
      whole -= 1;
    }
    wrong += !(ct::mod(x, y) == expected || (std::isnan(expected) && std::isnan(ct::mod(x, y))));
    if (std::fabs(whole) < T(1e6)) wrong += ct::floor_divide(x, y) != std::nearbyint(whole);
  }
  CHECK(wrong == 0);
  CHECK(ct::floor_divide(T(1), T(0.1)) == (sizeof(T) == 4 ? T(9) : T(9)));  // 0.1 is a little more than a tenth
}

// --- Integers ------------------------------------------------------------------------------------

TEST_CASE("integer division, powers and shifts of all pairs of bytes", "[math]") {
  int wrong = 0;
  for (int x = -128; x < 128; ++x) {
    for (int y = -128; y < 128; ++y) {
      const ct::i8 a = static_cast<ct::i8>(x), b = static_cast<ct::i8>(y);
      const int down = y == 0 ? 0 : static_cast<int>(std::floor(double(x) / y));
      wrong += ct::floor_divide(a, b) != static_cast<ct::i8>(down);
      wrong += ct::mod(a, b) != (y == 0 ? 0 : x - down * y);
      int power = 1;
      for (int i = 0; i < y; ++i) power = static_cast<ct::i8>(power * x);
      if (y < 0) power = x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
      wrong += ct::pow(a, b) != power;
      wrong += ct::left_shift(a, b) != (y < 0 || y > 7 ? 0 : static_cast<ct::i8>(x * (1 << y)));
      wrong += ct::right_shift(a, b) != static_cast<int>(std::floor(std::ldexp(double(x), y < 0 || y > 7 ? -20 : -y)));
      const ct::u8 c = static_cast<ct::u8>(x), d = static_cast<ct::u8>(y);
      wrong += ct::floor_divide(c, d) != (d == 0 ? 0 : c / d);
      wrong += ct::mod(c, d) != (d == 0 ? 0 : c % d);
      wrong += ct::right_shift(c, d) != (d > 7 ? 0 : c >> d);
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("integer edges are defined", "[math]", ct::i8, ct::i16, ct::i32, ct::i64) {
  using T = TestType;
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  CHECK(ct::lowest<T>() == low);
  CHECK(ct::highest<T>() == high);
  CHECK(ct::floor_divide(low, T(-1)) == low);
  CHECK(ct::mod(low, T(-1)) == 0);
  CHECK(ct::floor_divide(high, T(0)) == 0);
  CHECK(ct::mod(low, T(0)) == 0);
  CHECK(ct::floor_divide(T(-7), T(2)) == -4);
  CHECK(ct::floor_divide(T(7), T(-2)) == -4);
  CHECK(ct::mod(T(-7), T(2)) == 1);
  CHECK(ct::mod(T(7), T(-2)) == -1);
  CHECK(ct::pow(T(0), T(0)) == 1);
  CHECK(ct::pow(T(2), T(-1)) == 0);
  CHECK(ct::pow(T(0), T(-1)) == 0);
  CHECK(ct::pow(T(-1), low) == 1);
  CHECK(ct::pow(T(-1), T(-3)) == -1);
  CHECK(ct::pow(T(3), T(4)) == 81);
  CHECK(ct::pow(T(2), T(8 * sizeof(T) - 1)) == low);
  CHECK(ct::sqr(low) == 0);
  CHECK(ct::left_shift(T(1), T(8 * sizeof(T))) == 0);
  CHECK(ct::left_shift(T(-1), T(1)) == -2);
  CHECK(ct::right_shift(low, high) == -1);
  CHECK(ct::right_shift(high, T(-1)) == 0);
  CHECK(ct::sgn(low) == -1);
  CHECK(ct::maximum(low, high) == high);
  CHECK(ct::minimum(low, high) == low);
}

// --- Conversions ---------------------------------------------------------------------------------

namespace {

// x rounded to nearest even with so many binary digits; the last place is at least 2^lowest, and values from
// 2^max_exponent on are inf.
long double rounded(long double x, int digits, int lowest, int max_exponent) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int place = std::max(exponent - digits, lowest);
  const long double result = std::ldexp(std::nearbyint(std::ldexp(x, -place)), place);
  return std::fabs(result) >= std::ldexp(1.0L, max_exponent)
             ? std::copysign(std::numeric_limits<long double>::infinity(), x)
             : result;
}

template <class Half>
long double rounded(long double x) {
  return std::is_same_v<Half, ct::f16> ? rounded(x, 11, -24, 16) : rounded(x, 8, -133, 128);
}

template <class Half>
long double value_of(std::uint32_t bits) {
  constexpr int digits = std::is_same_v<Half, ct::f16> ? 10 : 7, bias = std::is_same_v<Half, ct::f16> ? 15 : 127;
  const int exponent = static_cast<int>((bits & 0x7fff) >> digits), all_ones = 2 * bias + 1;
  const int fraction = static_cast<int>(bits & ((1u << digits) - 1));
  const long double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == all_ones) return fraction ? std::nanl("") : sign * std::numeric_limits<long double>::infinity();
  return sign * std::ldexp(static_cast<long double>(fraction + (exponent ? 1 << digits : 0)),
                           std::max(exponent, 1) - bias - digits);
}

}  // namespace

TEMPLATE_TEST_CASE("16-bit floats convert exactly, round to even and come back", "[math]", ct::f16, ct::bf16) {
  using Half = TestType;
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<ct::u16>(bits)};
    const float wide = ct::to_float(half);
    const long double exact = value_of<Half>(bits);
    wrong += !same(static_cast<long double>(wide), exact);
    const Half back = ct::from_float<Half>(wide);
    wrong += back.bits != (std::isnan(wide) ? 0x7fff : half.bits);
    // One payload, with the sign: signbit and copysign read it.
    if (std::is_same_v<Half, ct::f16> && std::isnan(wide))
      wrong += ct::bits_of(wide) != (0x7fffffffu | (bits & 0x8000u) << 16);
    wrong += ct::from_floats<Half>(wide, 1.0f) != (back.bits | std::uint32_t{ct::from_float<Half>(1.0f).bits} << 16);
    if (std::isnan(exact) || std::isinf(exact)) continue;
    // The midpoint between this value and the next one, and its neighbours in float and in double.
    const std::uint32_t next_bits = bits + 1;
    const long double next = (next_bits & 0x7fff) == (std::is_same_v<Half, ct::f16> ? 0x7c00 : 0x7f80)
                                 ? std::copysign(std::ldexp(1.0L, std::is_same_v<Half, ct::f16> ? 16 : 128), exact)
                                 : value_of<Half>(next_bits);
    const double middle = static_cast<double>((exact + next) / 2);
    const float as_float = static_cast<float>(middle);
    for (const float x : {as_float, std::nextafter(as_float, 0.0f), std::nextafter(as_float, as_float * 2)})
      wrong += !same(static_cast<long double>(ct::to_float(ct::from_float<Half>(x))), rounded<Half>(x));
    for (const double x : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, middle * 2)})
      wrong += !same(static_cast<long double>(ct::to_float(ct::cast<Half>(x))), rounded<Half>(x));
  }
  CHECK(wrong == 0);
  Random random;
  for (int i = 0; i < 500000; ++i) {
    const float x = from_bits<float>(random.bits());
    wrong += std::isnan(x) && ct::from_float<Half>(x).bits != 0x7fff;
    const double y =
        i % 2 ? from_bits<double>(random.bits()) : random.between(-1, 1) * std::exp2(random.between(-140, 20));
    wrong += !same(static_cast<long double>(ct::to_float(ct::cast<Half>(x))), rounded<Half>(x));
    wrong += !same(static_cast<long double>(ct::to_float(ct::cast<Half>(y))), rounded<Half>(y));
    const std::uint64_t integer = random.bits() >> (i % 64);
    wrong += static_cast<long double>(ct::to_float(ct::cast<Half>(ct::u64(integer)))) !=
             rounded<Half>(static_cast<L>(integer));
    const std::int64_t negative = -static_cast<std::int64_t>(integer >> 1) - 1;
    wrong += static_cast<long double>(ct::to_float(ct::cast<Half>(ct::i64(negative)))) !=
             rounded<Half>(static_cast<L>(negative));
    const auto narrow = static_cast<ct::u32>(integer);
    wrong += static_cast<long double>(ct::to_float(ct::cast<Half>(narrow))) != rounded<Half>(static_cast<L>(narrow));
  }
  // 2^24 + 2^16 + 1: in float it would be the midpoint of two bf16, and round down.
  wrong += static_cast<long double>(ct::to_float(ct::cast<Half>(ct::i32(16842753)))) != rounded<Half>(16842753.0L);
  CHECK(wrong == 0);
  CHECK(same(ct::to_float(ct::inf<Half>()), std::numeric_limits<float>::infinity()));
  CHECK(std::isnan(ct::to_float(ct::nan<Half>())));
  CHECK(ct::cast<Half>(-0.0).bits == 0x8000);
  CHECK(ct::to_float(ct::highest<Half>()) == -ct::to_float(ct::lowest<Half>()));
  CHECK(ct::from_float<Half>(ct::to_float(ct::highest<Half>()) * 1.01f).bits == ct::inf<Half>().bits);
}

namespace {

template <class To, class From>
void check_float_to_integer() {
  const From inf = std::numeric_limits<From>::infinity();
  const To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  INFO(sizeof(From) << " bytes to " << (std::is_signed_v<To> ? "signed " : "unsigned ") << sizeof(To));
  CHECK(ct::cast<To>(std::numeric_limits<From>::quiet_NaN()) == 0);
  CHECK(ct::cast<To>(inf) == high);
  CHECK(ct::cast<To>(-inf) == low);
  CHECK(ct::cast<To>(From(1.9)) == 1);
  CHECK(ct::cast<To>(From(-0.9)) == 0);
  CHECK(ct::cast<To>(From(-1.9)) == static_cast<To>(std::is_signed_v<To> ? -1 : 0));
  const From above = std::ldexp(From(1), static_cast<int>(8 * sizeof(To)) - (std::is_signed_v<To> ? 1 : 0));
  CHECK(ct::cast<To>(above) == high);
  const From below = std::nextafter(above, From(0));
  CHECK(ct::cast<To>(below) == static_cast<To>(static_cast<long double>(below)));
  CHECK(ct::cast<To>(From(low)) == low);
  CHECK(ct::cast<To>(From(low) * 2 - 1) == low);
  CHECK(ct::cast<To>(std::nextafter(From(low), -inf)) == low);
}

template <class To>
void check_casts_to_integer() {
  check_float_to_integer<To, float>();
  check_float_to_integer<To, double>();
  CHECK(ct::cast<To>(true) == 1);
  CHECK(ct::cast<To>(ct::i64(-1)) == static_cast<To>(-1));
  CHECK(ct::cast<To>(ct::u64(0x8123456789abcdefu)) == static_cast<To>(0x8123456789abcdefu));
  CHECK(ct::cast<To>(ct::f16{0x4500}) == 5);
  CHECK(ct::cast<To>(ct::inf<ct::bf16>()) == std::numeric_limits<To>::max());
  CHECK_FALSE(ct::cast<bool>(To(0)));
  CHECK(ct::cast<bool>(To(2)));
  CHECK(ct::cast<double>(To(100)) == 100.0);
  CHECK(ct::cast<float>(To(100)) == 100.0f);
  CHECK(ct::to_float(ct::cast<ct::f16>(To(100))) == 100.0f);
  CHECK(ct::to_float(ct::cast<ct::bf16>(To(100))) == 100.0f);
}

}  // namespace

TEST_CASE("casts truncate, saturate and wrap as promised", "[math]") {
  check_casts_to_integer<ct::i8>();
  check_casts_to_integer<ct::i16>();
  check_casts_to_integer<ct::i32>();
  check_casts_to_integer<ct::i64>();
  check_casts_to_integer<ct::u8>();
  check_casts_to_integer<ct::u16>();
  check_casts_to_integer<ct::u32>();
  check_casts_to_integer<ct::u64>();
  CHECK(ct::cast<bool>(0.1f));
  CHECK(ct::cast<bool>(std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(ct::cast<bool>(-0.0));
  CHECK(ct::cast<bool>(ct::f16{1}));
  CHECK_FALSE(ct::cast<bool>(ct::bf16{0x8000}));
  CHECK(ct::cast<ct::bf16>(ct::f16{0x3c00}).bits == 0x3f80);
  CHECK(ct::cast<float>(16777217) == 16777216.0f);
  CHECK(ct::cast<float>(1e300) == std::numeric_limits<float>::infinity());
  CHECK(ct::cast<ct::u8>(300) == 44);
}

TEST_CASE("the upper half of a product", "[math]") {
  Random random;
  int wrong = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t a = random.bits(), b = random.bits();
    __extension__ using Wide = unsigned __int128;
    wrong += ct::multiply_high(a, b) != static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
  }
  CHECK(ct::multiply_high(~0ull, ~0ull) == ~0ull - 1);
  CHECK(wrong == 0);
}
