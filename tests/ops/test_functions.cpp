// The functions of <croton/elementwise.hpp> that the table test of test_elementwise.cpp does not reach: composed
// functions, functions with operands of two kinds, the absolute errors near zeros, gradients at edges, layouts, errors.
#include "samples.hpp"

#include <numbers>

using namespace croton_test;

namespace {

const double inf = std::numeric_limits<double>::infinity(), quiet_nan = std::nan("");

bool equal_or_nan(double a, double b) {
  return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

/// Checks every element, with the sign of zero and nan.
bool is(const Array& got, const std::vector<double>& wanted) {
  if (got.size() != static_cast<std::int64_t>(wanted.size())) return false;
  const Array plain = got.copy();
  for (std::int64_t i = 0; i < plain.size(); ++i)
    if (!equal_or_nan(plain.as_double(i), wanted[static_cast<std::size_t>(i)])) return false;
  return true;
}

Array bytes(const std::vector<std::int64_t>& values, DType dtype) { return exactly(values, dtype); }

}  // namespace

TEST_CASE("rounding to halves, decimals and integers", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x");
  const auto f = compile(mode, {x},
                         {ct::round(x, ct::Rounding::half_away_from_zero), ct::round(x, ct::Rounding::half_to_even),
                          ct::iround(x), ct::iround(x, ct::Rounding::half_away_from_zero), ct::rint(x), ct::fix(x)});
  const auto r = f(Array{0.5, -0.5, 2.5, -1.5, 1.4999999999999998, -0.2});
  CHECK(is(r[0], {1, -1, 3, -2, 1, -0.0}));
  CHECK(is(r[1], {0, -0.0, 2, -2, 1, -0.0}));
  CHECK(r[2].equals(
      Array{std::int64_t{0}, std::int64_t{0}, std::int64_t{2}, std::int64_t{-2}, std::int64_t{1}, std::int64_t{0}}));
  CHECK(r[3].equals(
      Array{std::int64_t{1}, std::int64_t{-1}, std::int64_t{3}, std::int64_t{-2}, std::int64_t{1}, std::int64_t{0}}));
  CHECK(is(r[4], {0, -0.0, 2, -2, 1, -0.0}));
  CHECK(is(r[5], {0, -0.0, 2, -1, 1, -0.0}));
  const auto g = compile(mode, {x}, {ct::round(x, 2), ct::round(x, -1), ct::round(x, 0)});
  const auto s = g(Array{3.14159, -2.675, 15.0, 25.0, quiet_nan, inf});
  CHECK(is(s[0], {3.14, -2.68, 15, 25, quiet_nan, inf}));  // -2.675 * 100 is -267.5 in binary: half, to even
  CHECK(is(s[1], {0, -0.0, 20, 20, quiet_nan, inf}));
  CHECK(is(s[2], {3, -3, 15, 25, quiet_nan, inf}));
  const auto i = ct::ivector("i");
  const auto h =
      compile(mode, {i}, {ct::round(i, -1), ct::round(i, 3), ct::round(i, ct::Rounding::half_away_from_zero)});
  CHECK(h(Array{14, 15, 25, -26})[0].equals(Array{10, 20, 20, -30}));
  CHECK(h(Array{14, 15, 25, -26})[1].equals(Array{14, 15, 25, -26}));
  CHECK(h(Array{14, 15, 25, -26})[2].equals(Array{14, 15, 25, -26}));
}

TEST_CASE("pairs: divmod, modf, frexp and ldexp", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto a = ct::ivector("a"), b = ct::ivector("b");
  const auto [quotient, rest] = ct::divmod(a, b);
  const auto r =
      compile(mode, {a, b}, {quotient, rest, ct::fmod(a, b)})(Array{7, -7, 7, -7, 5}, Array{2, 2, -2, -2, 0});
  CHECK(r[0].equals(Array{3, -4, -4, 3, 0}));
  CHECK(r[1].equals(Array{1, 1, -1, -1, 0}));
  CHECK(r[2].equals(Array{1, -1, 1, -1, 0}));
  const auto x = ct::dvector("x");
  const auto [part, whole] = ct::modf(x);
  const auto s = compile(mode, {x}, {part, whole})(Array{2.5, -2.5, -0.0, inf, -inf, quiet_nan});
  CHECK(is(s[0], {0.5, -0.5, -0.0, 0, -0.0, quiet_nan}));
  CHECK(is(s[1], {2, -2, -0.0, inf, -inf, quiet_nan}));
  const auto [m, e] = ct::frexp(x);
  const auto t = compile(mode, {x}, {m, e, ct::ldexp(m, e)})(Array{8.0, -0.75, 5e-324, 0.0, -inf, 1e300});
  CHECK(is(t[0], {0.5, -0.75, 0.5, 0, -inf, std::ldexp(1e300, -997)}));
  CHECK(t[1].equals(Array{4, 0, -1073, 0, 0, 997}));
  CHECK(is(t[2], {8, -0.75, 5e-324, 0, -inf, 1e300}));
  CHECK(t[1].dtype() == DType::int32);
}

TEST_CASE("ldexp rounds once, for exponents of any size and dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x"), n = ct::lvector("n");
  const std::vector<double> values = {
      1, -1, 1.5, 5e-324, 1.7976931348623157e308, 1.2345678901234567, 1.2345678901234567, 3, 1e-300, quiet_nan, inf};
  const std::vector<std::int64_t> by = {5000, -5000, -1074, 2098, -2097, -1060, -1030, 1000000000000, -300, 3, -5000};
  std::vector<double> wanted;
  for (std::size_t i = 0; i < values.size(); ++i)
    wanted.push_back(std::ldexp(values[i], static_cast<int>(std::clamp<std::int64_t>(by[i], -9999, 9999))));
  CHECK(is(compile(mode, {x, n}, {ct::ldexp(x, n)})(Array(values), Array(by))[0], wanted));
  const auto v = ct::fvector("v"), k = ct::vector("k", DType::int8);
  const auto r =
      compile(mode, {v, k}, {ct::ldexp(v, k)})(Array{1.5f, 3.f, 1e38f}, bytes({-128, 127, 127}, DType::int8))[0];
  CHECK(r.dtype() == DType::float32);
  CHECK(is(r, {static_cast<double>(std::ldexp(1.5f, -128)), inf, inf}));
  CHECK(compile(mode, {k}, {ct::ldexp(k, k)})(bytes({3, -2}, DType::int8))[0].equals(Array{24.f, -0.5f}));
  CHECK_THROWS_AS(ct::ldexp(x, x), ct::TypeError);
}

TEST_CASE("shifts, divisors and bits of every integer dtype", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8, DType::uint16,
                               DType::uint32, DType::uint64);
  CAPTURE(mode, ct::name_of(dtype));
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const bool is_signed = is_signed_int(dtype);
  const auto low = is_signed ? static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1)) : 0;
  const auto x = ct::vector("x", dtype), y = ct::vector("y", dtype);
  const auto f = compile(
      mode, {x, y}, {ct::left_shift(x, y), ct::right_shift(x, y), ct::gcd(x, y), ct::lcm(x, y), ct::bitwise_count(x)});
  const std::int64_t minus = is_signed ? -6 : 6, negative = is_signed ? -1 : 100;
  const auto r = f(bytes({1, 1, 5, minus, low, 12, 0}, dtype), bytes({bits - 1, bits, negative, 1, 1, 18, 0}, dtype));
  const std::int64_t top = is_signed ? low : static_cast<std::int64_t>(std::uint64_t{1} << (bits - 1));
  CHECK(r[0].equals(bytes({top, 0, 0, 2 * minus, 0, 18 < bits ? 12 << 18 : 0, 0}, dtype)));
  CHECK(r[1].equals(bytes({0, 0, 0, minus / 2, is_signed ? low / 2 : 0, 0, 0}, dtype)));
  CHECK(r[2].as_double(3) == 1);
  CHECK(r[2].as_double(5) == 6);
  CHECK(r[2].as_double(6) == 0);
  CHECK(r[3].as_double(5) == 36);
  CHECK(r[3].as_double(6) == 0);
  CHECK(r[4].equals(bytes({1, 1, 2, 2, is_signed ? 1 : 0, 2, 0}, DType::uint8)));
}

TEST_CASE("bits of bool, and what integers' functions refuse", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto b = ct::vector("b", DType::bool_);
  CHECK(compile(mode, {b}, {ct::bitwise_count(b)})(Array{true, false})[0].equals(bytes({1, 0}, DType::uint8)));
  const auto v = ct::fvector("v");
  const auto i = ct::lvector("i"), u = ct::vector("u", DType::uint64);
  CHECK_THROWS_AS(ct::left_shift(b, b), ct::TypeError);
  CHECK_THROWS_AS(ct::gcd(v, v), ct::TypeError);
  CHECK_THROWS_AS(ct::right_shift(i, u), ct::TypeError);
  CHECK_THROWS_AS(ct::bitwise_count(v), ct::TypeError);
  CHECK_THROWS_AS(ct::fabs(ct::cvector("z")), ct::TypeError);
  CHECK_THROWS_WITH(ct::lcm(i, v), Catch::Contains("lcm") && Catch::Contains("only integers are accepted") &&
                                       Catch::Contains("v is f32") && Catch::Contains("test_functions.cpp"));
  CHECK_THROWS_WITH(ct::ldexp(v, v), Catch::Contains("the exponent must be an integer"));
}

TEST_CASE("logic of floats and integers, and NumPy's names", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x"), y = ct::dvector("y");
  const auto r =
      compile(mode, {x, y}, {ct::logical_and(x, y), ct::logical_or(x, y), ct::logical_xor(x, y), ct::logical_not(x)})(
          Array{0.0, -0.0, quiet_nan, 2.0}, Array{0.0, 1.0, 0.0, -3.0});
  CHECK(r[0].equals(Array{false, false, false, true}));
  CHECK(r[1].equals(Array{false, true, true, true}));
  CHECK(r[2].equals(Array{false, true, true, false}));
  CHECK(r[3].equals(Array{true, true, false, false}));
  const auto a = ct::ivector("a"), b = ct::ivector("b");
  const auto s = compile(mode, {a, b},
                         {ct::bitwise_and(a, b), ct::or_(a, b), ct::xor_(a, b), ct::bitwise_not(a), ct::subtract(a, b),
                          ct::mod(a, b), ct::int_div(a, b), ct::negative(a), ct::positive(a), ct::sign(a),
                          ct::square(a), ct::less_equal(a, b)})(Array{6, -7}, Array{3, 2});
  const std::vector<std::vector<double>> wanted = {{2, 0},  {7, -5}, {5, -5}, {-7, 6}, {3, -9},  {0, 1},
                                                   {2, -4}, {-6, 7}, {6, -7}, {1, -1}, {36, 49}, {0, 1}};
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    INFO(k);
    CHECK(is(s[k], wanted[k]));
  }
}

TEST_CASE("isclose, allclose and nan_to_num", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x"), y = ct::dvector("y");
  const auto f = compile(
      mode, {x, y},
      {ct::isclose(x, y), ct::isclose(x, y, 0.1, 0, true), ct::allclose(x, y), ct::isposinf(x), ct::isneginf(x)});
  const auto r = f(Array{1.0, 1.0, inf, inf, quiet_nan, 0.0, 1e-9, -inf},
                   Array{1.000001, 1.05, inf, -inf, quiet_nan, 1e-9, 0.0, 5.0});
  CHECK(r[0].equals(Array{true, false, true, false, false, true, true, false}));
  CHECK(r[1].equals(Array{true, true, true, false, true, false, false, false}));
  CHECK(r[2].equals(Array(false)));
  CHECK(r[3].equals(Array{false, false, true, true, false, false, false, false}));
  CHECK(r[4].equals(Array{false, false, false, false, false, false, false, true}));
  CHECK(f(Array{1.0, 2.0}, Array{1.0, 2.0})[2].equals(Array(true)));
  CHECK(f(Array::zeros(DType::float64, {0}), Array::zeros(DType::float64, {0}))[2].equals(Array(true)));
  const auto u = ct::vector("u", DType::uint8), w = ct::vector("w", DType::uint8);
  CHECK(compile(mode, {u, w}, {ct::isclose(u, w)})(bytes({0, 255, 7}, DType::uint8),
                                                   bytes({255, 255, 8}, DType::uint8))[0]
            .equals(Array{false, true, false}));
  const auto v = ct::fvector("v");
  const auto s = compile(mode, {v}, {ct::nan_to_num(v), ct::nan_to_num(v, 7, 1.5, -2.5)})(
      Array{1.f, std::nanf(""), static_cast<float>(inf), -static_cast<float>(inf)});
  const double top = std::numeric_limits<float>::max();
  CHECK(is(s[0], {1, 0, top, -top}));
  CHECK(is(s[1], {1, 7, 1.5, -2.5}));
  CHECK(s[0].dtype() == DType::float32);
}

TEST_CASE("fill, float_power and neighbours of float32", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto m = ct::matrix("m"), s = ct::scalar("s", DType::int8), i = ct::ivector("i");
  const auto r =
      compile(mode, {m, s}, {ct::fill(m, s)})(Array::zeros(DType::float32, {2, 3}), Array(std::int8_t{5}))[0];
  CHECK(r.equals(Array::full(DType::int8, {2, 3}, 5)));
  CHECK(compile(mode, {i}, {ct::float_power(i, -1)})(Array{2, 4})[0].equals(Array{0.5, 0.25}));
  const auto v = ct::fvector("v");
  const auto n = compile(mode, {v}, {ct::nextafter(v, 2), ct::nextafter(v, -1)})(Array{1.f, 0.f, 2.f, -1.f});
  CHECK(is(n[0], {std::nextafterf(1, 2), std::nextafterf(0, 2), 2, std::nextafterf(-1, 2)}));
  CHECK(is(n[1], {std::nextafterf(1, -1), std::nextafterf(0, -1), std::nextafterf(2, -1), -1}));
}

namespace {

/// All float16 or bfloat16 numbers by their bits, with all nans.
Array all_narrow(DType dtype, int every) {
  std::vector<std::uint16_t> bits;
  for (int b = 0; b < 65536; b += every) bits.push_back(static_cast<std::uint16_t>(b));
  for (const int b : {0, 1, 0x7bff, 0x7c00, 0x7f7f, 0x7f80, 0x3c00, 0x3f80}) {
    bits.push_back(static_cast<std::uint16_t>(b));
    bits.push_back(static_cast<std::uint16_t>(b + 0x8000));
  }
  return Array::view_of(bits.data(), dtype, {static_cast<std::int64_t>(bits.size())}).copy();
}

/// nextafter by the bits: for numbers of one sign they count upwards with the magnitude.
double neighbour_by_bits(const Array& a, std::int64_t at, double y) {
  const double x = a.as_double(at);
  if (std::isnan(x) || std::isnan(y)) return quiet_nan;
  if (x == y) return y;
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(a.raw()) + 2 * at, 2);
  if (x == 0)
    bits = std::signbit(y) ? 0x8001 : 1;
  else
    bits = static_cast<std::uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1);
  return Array::view_of(&bits, a.dtype(), {1}).copy().as_double(0);
}

}  // namespace

TEST_CASE("neighbours of 16-bit floats", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::vector("x", dtype), y = ct::scalar("y", dtype);
  const auto f = compile(mode, {x, y}, {ct::nextafter(x, y)});
  const Array all = all_narrow(dtype, mode == "mode=run" ? 1 : 97);
  for (const double to : {inf, -inf, 0.0, -0.0, 1.0, -3.0, quiet_nan}) {
    INFO("towards " << to);
    const Array got = f(all, Array(to).astype(dtype))[0].copy();
    REQUIRE(got.dtype() == dtype);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < all.size(); ++i)
      wrong += !equal_or_nan(got.as_double(i), neighbour_by_bits(all, i, to));
    CHECK(wrong == 0);
  }
  // With a wider operand the result is the wider type's neighbour; a whole number has x's type.
  CHECK(ct::nextafter(x, ct::fscalar("s")).dtype() == DType::float32);
  CHECK(ct::nextafter(x, 1).dtype() == dtype);
  CHECK(ct::grad(ct::sum(ct::nextafter(x, y)), x)
            .eval({{x, Array{1., 0., 2.}.astype(dtype)}, {y, Array(2.).astype(dtype)}})
            .equals(Array{1., 1., 1.}.astype(dtype)));
}

TEST_CASE("spacing is the distance to the next number outwards", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16, DType::float32, DType::float64);
  CAPTURE(mode, ct::name_of(dtype));
  const auto x = ct::vector("x", dtype);
  const double top = std::abs(awkward_floats(dtype)[awkward_floats(dtype).size() - 4]), least = ulp_at(1e-310, dtype);
  const auto f = compile(mode, {x}, {ct::spacing(x), ct::grad(ct::sum(ct::spacing(x)), x)});
  const std::vector<double> at = {0,     -0.0,  1,      -1,  1.5,  -2,  0.75, 1e-3,
                                  60000, least, -least, top, -top, inf, -inf, quiet_nan};
  const auto r = f(fill(at, dtype));
  REQUIRE(r[0].dtype() == dtype);
  const Array exact = fill(at, dtype);
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    const double v = exact.as_double(i);
    INFO("at " << v);
    const double wanted = !std::isfinite(v)    ? quiet_nan
                          : std::abs(v) == top ? std::copysign(inf, v)
                          : v == 0             ? least
                                               : std::copysign(ulp_at(v, dtype), v);
    CHECK(equal_or_nan(r[0].as_double(i), wanted));
    CHECK((r[1].as_double(i) == 0 || !std::isfinite(v)));
  }
  const auto i = ct::ivector("i");
  CHECK(ct::spacing(i).dtype() == DType::float64);
  CHECK(compile(mode, {i}, {ct::spacing(i)})(Array{3, -1})[0].equals(Array{0x1p-51, -0x1p-52}));
}

TEST_CASE("fused values are rounded before their neighbouring numbers are computed", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto h = ct::vector("h", DType::float16), s = ct::scalar("s", DType::float16);
  const auto r = compile(mode, {h}, {ct::spacing(h * h), ct::nextafter(h * h, 0)})(
      Array{1 + 0x1p-10, 3 + 0x1p-9, 256.}.astype(DType::float16));
  // The squares are 1 + 2^-9 + 2^-20, 9 + 3 2^-8 + 2^-18, of which 9 + 2^-6 is the nearest, and 65536, which is inf.
  CHECK(is(r[0], {0x1p-10, 0x1p-7, quiet_nan}));
  CHECK(is(r[1], {1 + 0x1p-10, 9 + 0x1p-7, 65504}));
  // A scalar next to a vector gets the sum of the gradients.
  const auto g = ct::grad(ct::sum(ct::nextafter(s, h) * ct::cast(ct::arange(3), DType::float16)), {s, h});
  const auto slopes =
      compile(mode, {s, h}, g)(Array(0.5).astype(DType::float16), Array{0., 1., 2.}.astype(DType::float16));
  CHECK(slopes[0].as_double(0) == 3);
  CHECK(is(slopes[1], {0, 0, 0}));
}

TEST_CASE("NumPy's other names", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x"), i = ct::lvector("i"), z = ct::zvector("z"), b = ct::vector("b", DType::int8);
  const auto r = compile(mode, {x, i, z, b},
                         {ct::asin(x), ct::acos(x), ct::atan(x), ct::atan2(x, -x), ct::asinh(x), ct::acosh(1 + x),
                          ct::atanh(x), ct::fabs(-x), ct::divide(x, 4), ct::conjugate(z), ct::bitwise_invert(i),
                          ct::bitwise_left_shift(i, 2), ct::bitwise_right_shift(i, 1), ct::fabs(b), ct::conjugate(i)})(
      Array{0.25}, Array{std::int64_t{-6}}, Array(std::vector<std::complex<double>>{{1, 2}}), Array{std::int8_t{-128}});
  const double wanted[] = {std::asin(0.25),
                           std::acos(0.25),
                           std::atan(0.25),
                           std::atan2(0.25, -0.25),
                           std::asinh(0.25),
                           std::acosh(1.25),
                           std::atanh(0.25),
                           0.25,
                           0.0625};
  for (std::size_t k = 0; k < std::size(wanted); ++k) CHECK(r[k].as_double(0) == Approx(wanted[k]).epsilon(1e-15));
  CHECK(r[9].as_complex(0) == std::complex<double>(1, -2));
  CHECK(r[10].item<std::int64_t>() == 5);
  CHECK(r[11].item<std::int64_t>() == -24);
  CHECK(r[12].item<std::int64_t>() == -3);
  CHECK(r[13].dtype() == DType::float32);
  CHECK(r[13].as_double(0) == 128);
  CHECK(r[14].item<std::int64_t>() == -6);
}

TEST_CASE("absolute errors where functions have zeros", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  CAPTURE(mode);
  const ct::change_flags flags("floatX=float64");
  const auto x = ct::dvector("x"), y = ct::dvector("y");
  const auto f = compile(mode, {x, y},
                         {ct::j0(x), ct::j1(x), ct::logaddexp(x, y), ct::logaddexp2(x, y), ct::gammaln(x), ct::psi(x)});
  const Array a = Array::uniform(DType::float64, {3000}, 1, -60, 60),
              b = Array::uniform(DType::float64, {3000}, 2, -60, 60);
  const auto r = f(a, b);
  double worst[6] = {};
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const long double p = a.as_double(i), q = b.as_double(i);
    const long double larger = std::fmax(p, q), apart = std::fabs(p - q);
    const long double wanted[5] = {::j0l(p), ::j1l(p), larger + std::log1p(std::exp(-apart)),
                                   larger + std::log1p(std::exp2(-apart)) / std::numbers::ln2_v<long double>,
                                   std::lgamma(p)};
    for (std::size_t k = 0; k < 5; ++k) {
      const long double unit = k < 2 ? 0.5L : std::fmax(1.0L, std::fabs(k < 4 ? larger : p));
      worst[k] = std::max(worst[k], static_cast<double>(std::fabs(r[k].as_double(i) - wanted[k]) / unit));
    }
    // psi(1 - x) - psi(x) = pi cot(pi x) and psi(x + 1) = psi(x) + 1 / x are checked at the end.
  }
  for (std::size_t k = 0; k < 4; ++k) CHECK(worst[k] < 1e-15);
  CHECK(worst[4] < 4e-15);
  const auto g = compile(mode, {x},
                         {(ct::psi(1 - x) - ct::psi(x)) - std::numbers::pi / ct::tan(x * std::numbers::pi),
                          (ct::psi(x + 1) - ct::psi(x)) * x, (ct::tri_gamma(x) - ct::tri_gamma(x + 1)) * x * x});
  const auto s = g(Array{-2.3, -0.7, 0.25, 0.4, 1.3, 2.75, 9.6, 10.2});
  for (std::int64_t i = 0; i < 8; ++i) {
    CHECK(std::abs(s[0].as_double(i)) < 1e-13 * 4);
    CHECK(s[1].as_double(i) == Approx(1).epsilon(1e-12));
    CHECK(s[2].as_double(i) == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("gradients of functions at their edges", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto v = ct::dvector("v");
  const auto at = [&](const Variable& y, const std::vector<double>& points) {
    return compile("floatX=float64," + mode, {v}, {ct::grad(ct::sum(y), v)})(Array(points))[0].copy();
  };
  const ct::change_flags flags("floatX=float64");
  CHECK(at(ct::sinc(v), {0}).as_double(0) == 0);
  CHECK(at(ct::sinc(v), {1e-8}).as_double(0) == Approx(-3.289868133696453e-8).epsilon(1e-12));
  CHECK(at(ct::erfcx(v), {1e6}).as_double(0) == Approx(-5.641895835469100e-13).epsilon(1e-12));
  CHECK(is(at(ct::i1(v), {0}), {0.5}));
  CHECK(is(at(ct::j1(v), {0}), {0.5}));
  CHECK(is(at(ct::hypot(v, 0), {0, 1e200}), {0, 1}));
  CHECK(at(ct::arcsinh(v), {1e200}).as_double(0) == Approx(1e-200));
  CHECK(at(ct::arccosh(v), {1e200}).as_double(0) == Approx(1e-200));
  CHECK(at(ct::log1mexp(v), {-1e-6}).as_double(0) == Approx(-999999.5));
  CHECK(is(at(ct::logaddexp(v, 1), {1, 1000, -1000}), {0.5, 1, 0}));
  CHECK(is(at(ct::copysign(v, -1), {2, -3}), {-1, 1}));
  CHECK(is(at(ct::fmax(v, quiet_nan), {2}), {1}));
  CHECK(is(at(ct::round(v, 2) + ct::left_shift(ct::cast(v, DType::int64), 1), {1.5}), {0}));
  const auto second = ct::grad(ct::sum(ct::grad(ct::sum(ct::sinc(v) + ct::i1(v) + ct::j1(v)), v)), v);
  const auto r = compile("floatX=float64," + mode, {v}, {second})(Array{0.0})[0];
  CHECK(r.as_double(0) == Approx(-3.289868133696453));
}

TEST_CASE("functions of inputs in every layout, of empty and 0-d ones", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const auto f = compile(
      mode, {x},
      {ct::gammaln(x), ct::erfinv(x / 60), ct::arctan2(x, ct::transpose(ct::transpose(x)) + 1), ct::round(x, 1)});
  const Array values = Array::uniform(DType::float32, {5, 7}, 1, -50, 50);
  const auto wanted = f(values);
  for (const Layout& layout : layouts_of(values)) {
    INFO(layout.name);
    const auto got = f(layout.array);
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(same_bits(got[k], wanted[k]));
  }
  CHECK(f(Array::zeros(DType::float32, {0, 3}))[0].shape() == Sizes{0, 3});
  const auto s = ct::dscalar("s");
  CHECK(compile(mode, {s}, {ct::gamma(s)})(5.0)[0].item<double>() == Approx(24).epsilon(1e-15));
  CHECK(compile(mode, {s}, {ct::polygamma(2, s)})(1.0)[0].item<double>() ==
        Approx(-2.404113806319188570799476).epsilon(1e-14));
}
