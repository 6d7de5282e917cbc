// Functions of an order and an argument, in addition to the table test of test_elementwise.cpp: relative accuracy on
// both sides of the boundaries between their methods, identities, float32, gradients and undefined gradients.
#include "samples.hpp"

using namespace croton_test;

namespace {

using Function = Variable (*)(ct::Operand, ct::Operand);

struct Named {
  const char* op;
  Function function;
};

const Named incomplete[] = {{"gammainc", ct::gammainc}, {"gammaincc", ct::gammaincc}};

/// Pairs of orders and arguments near every boundary between methods, and far from them.
std::pair<Array, Array> pairs() {
  std::vector<double> a, x;
  for (const double order :
       {1e-30, 1e-5, 0.05, 0.49, 0.51, 0.75, 0.999, 1.0, 1.5, 4.0, 9.99, 10.0, 31.7, 64.0, 100.0}) {
    for (const double argument : {1e-20, 1e-3, 0.3, 0.999, 1.0, 1.7, 5.0, 20.0, 60.0, 120.0, order, 0.4 * order,
                                  0.9 * order, order + 0.999, order + 1.001, 1.3 * order, 2.1 * order, 4.0 * order}) {
      a.push_back(order);
      x.push_back(argument);
    }
  }
  return {Array(a), Array(x)};
}

/// A constant in double precision: a literal would be float32.
Variable precise(double x) { return ct::constant(Array(x)); }

double relative_error(const Array& got, const Array& wanted) {
  double worst = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double value = wanted.as_double(i);
    if (std::abs(value) < 1e-290) continue;
    worst = std::max(worst, std::abs(got.as_double(i) / value - 1));
  }
  return worst;
}

}  // namespace

TEST_CASE("incomplete gamma functions keep their relative accuracy", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  CAPTURE(mode);
  const auto [orders, arguments] = pairs();
  const auto a = ct::dvector("a"), x = ct::dvector("x");
  for (const Named& f : incomplete) {
    INFO(f.op);
    const auto outputs = compile(mode, {a, x}, {f.function(a, x)})(orders, arguments);
    const Array exact = compile("mode=reference", {a, x}, {f.function(a, x)})(orders, arguments)[0];
    CHECK(relative_error(outputs[0], exact) < 1e-13);
    // Computed in double and rounded once, for float32 operands.
    const auto b = ct::fvector("b"), y = ct::fvector("y");
    const Array narrow_a = orders.astype(DType::float32), narrow_x = arguments.astype(DType::float32);
    const Array narrow = compile(mode, {b, y}, {f.function(b, y)})(narrow_a, narrow_x)[0];
    const Array wide =
        compile(mode, {a, x}, {f.function(a, x)})(narrow_a.astype(DType::float64), narrow_x.astype(DType::float64))[0];
    CHECK(narrow.equals(wide.astype(DType::float32)));
  }
}

TEST_CASE("incomplete gamma functions in closed form", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x");
  const Array points{1e-9, 0.01, 0.7, 1.0, 1.9, 2.1, 8.0, 40.0, 300.0};
  const auto check = [&](const Variable& got, const Variable& wanted) {
    const auto r = compile(mode, {x}, {got, wanted})(points);
    CHECK(relative_error(r[0], r[1]) < 2e-13);
  };
  check(ct::gammainc(1, x), -ct::expm1(-x));
  check(ct::gammaincc(1, x), ct::exp(-x));
  check(ct::gammaincc(0.5, x), ct::erfc(ct::sqrt(x)));
  check(ct::gammainc(0.5, x), ct::erf(ct::sqrt(x)));
  check(ct::chi2sf(x, 2), ct::exp(-x / 2));
  check(ct::chi2sf(x, 4), ct::exp(-x / 2) * (1 + x / 2));
  check(ct::gammal(3, x), 2 * ct::gammainc(3, x));
  check(ct::gammau(3, x), ct::exp(-x) * (x * x + 2 * x + 2));
  check(ct::gammal(2.5, x) + ct::gammau(2.5, x), ct::fill(x, precise(1.329340388179137)));  // gamma(2.5)
}

TEST_CASE("incomplete gamma functions of large orders", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto a = ct::dvector("a");
  // DLMF 8.12.4 at x = a: P(a, a) is 1/2 + (1/3 + 1 / (540 a)) / sqrt(2 pi a) up to terms of a^(-5/2).
  const Variable series = (precise(1. / 3) + 1 / (540 * a)) / ct::sqrt(precise(6.283185307179586) * a);
  const auto r = compile(mode, {a},
                         {ct::gammainc(a, a) - 0.5, series, ct::gammainc(a, a) + ct::gammaincc(a, a),
                          ct::gammainc(a, a / 2), ct::gammaincc(a, 2 * a)})(Array{9e4, 99999.0, 1e5, 1e6, 1e12, 1e300});
  for (int i = 0; i < 6; ++i) {
    INFO("element " << i);
    CHECK(r[0].at<double>(i) == Approx(r[1].at<double>(i)).epsilon(1e-10).margin(4e-16));
    CHECK(std::abs(r[2].at<double>(i) - 1) < 4e-16);
    CHECK(r[3].at<double>(i) == 0);
    CHECK(r[4].at<double>(i) == 0);
  }
}

TEST_CASE("Bessel functions of every order and size", "[ops]") {
  const std::string mode = GENERATE(from_range(compiled_backends()));
  CAPTURE(mode);
  std::vector<double> orders, arguments;
  for (const double v : {0.0, 0.3, 1.0, 1.5, 2.0, 7.25, 20.0, 24.9, 50.5, 99.0}) {
    for (const double x : {1e-5, 0.1, 1.9, 2.1, 6.0, 12.5, 24.99, 25.01, 30.0, 49.0, 51.0, 75.0, 100.0}) {
      orders.push_back(v);
      arguments.push_back(x);
    }
  }
  const auto v = ct::dvector("v"), x = ct::dvector("x");
  const auto got = compile(mode, {v, x}, {ct::jv(v, x), ct::iv(v, x)})(Array(orders), Array(arguments));
  const auto wanted = compile("mode=reference", {v, x}, {ct::jv(v, x), ct::iv(v, x)})(Array(orders), Array(arguments));
  CHECK(relative_error(got[1], wanted[1]) < 1e-13);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const double exact = wanted[0].as_double(at), error = std::abs(got[0].as_double(at) - exact);
    INFO("order " << orders[i] << ", x " << arguments[i]);
    CHECK(error < 1e-13);
    // Below its first zero it does not oscillate.
    if (arguments[i] < orders[i] && std::abs(exact) > 1e-290) CHECK(error < 1e-12 * std::abs(exact));
  }
}

TEST_CASE("Bessel functions in closed form and by their relations", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::dvector("x");
  const Array points{1e-9, 0.3, 1.9, 2.1, 8.0, 24.9, 25.1, 60.0, 300.0};
  const auto difference = [&](const Variable& a, const Variable& b) {
    const Array d = compile(mode, {x}, {ct::max(ct::abs(a - b) / (1 + ct::abs(b)))})(points)[0];
    return d.item<double>();
  };
  const Variable scale = ct::sqrt(precise(0.6366197723675814) / x);  // sqrt(2 / (pi x))
  CHECK(difference(ct::jv(0.5, x), scale * ct::sin(x)) < 1e-14);
  CHECK(difference(ct::jv(-0.5, x), scale * ct::cos(x)) < 1e-13);
  CHECK(difference(ct::jv(1.5, x) + ct::jv(-0.5, x), ct::jv(0.5, x) / x) < 1e-13);
  CHECK(difference(ct::jv(0, x), ct::j0(x)) < 1e-14);
  CHECK(difference(ct::jv(1, -x), -ct::j1(x)) < 1e-14);
  CHECK(difference(ct::jv(-3, x), -ct::jv(3, x)) == 0);
  CHECK(difference(ct::iv(0.5, x), scale * ct::sinh(x)) < 1e-12);
  CHECK(difference(ct::iv(-0.5, x), scale * ct::cosh(x)) < 1e-12);
  CHECK(difference(ct::iv(1, -x), -ct::i1(x)) < 1e-12);
  // DLMF 10.5.1, times x: relates orders of both signs.
  for (const double v : {0.25, 0.7, 2.3}) {
    INFO(v);
    const Variable wronskian =
        x * (ct::jv(precise(v + 1), x) * ct::jv(precise(-v), x) + ct::jv(precise(v), x) * ct::jv(precise(-v - 1), x));
    const Variable wanted = ct::fill(x, precise(-0.6366197723675814 * std::sin(v * 3.141592653589793)));
    CHECK(difference(wronskian, wanted) < 1e-12);
  }
}

TEST_CASE("orders of Bessel functions that are large or no numbers of the table", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  const auto v = ct::dvector("v"), x = ct::dvector("x");
  const auto r = compile("special_values=ieee," + mode, {v, x}, {ct::jv(v, x), ct::iv(v, x)})(
      Array{6000.0, 6000.0, 3.0, 0.5}, Array{10.0, 6000.0, -0.0, std::numeric_limits<double>::infinity()});
  CHECK(r[0].at<double>(0) == 0);
  CHECK(std::isnan(r[0].at<double>(1)));
  CHECK(r[0].at<double>(2) == 0);
  CHECK(r[0].at<double>(3) == 0);
  CHECK(std::isnan(r[1].at<double>(1)));
  CHECK(std::isinf(r[1].at<double>(3)));
}

TEST_CASE("integers and broadcast orders", "[ops]") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto k = ct::ivector("k");
  const auto x = ct::fmatrix("x");
  const auto r = compile(mode, {k, x}, {ct::gammaincc(k, x), ct::chi2sf(x, k), ct::gammainc(k, k)})(
      Array{1, 2}, Array{{1.f, 2.f}, {3.f, 4.f}});
  CHECK(r[0].shape() == Sizes{2, 2});
  CHECK(r[0].at<double>(1, 1) == Approx(5 * std::exp(-4.0)).epsilon(1e-13));
  CHECK(r[1].at<double>(1, 1) == Approx(std::exp(-2.0)).epsilon(1e-13));
  CHECK(r[2].at<double>(0) == Approx(-std::expm1(-1.0)).epsilon(1e-13));
}

TEST_CASE("gradients by the argument, and none by the order", "[ops]") {
  const auto a = ct::dvector("a"), x = ct::dvector("x");
  const Array orders{0.7, 1.0, 3.5, 40.0}, points{0.4, 2.0, 3.0, 45.0};
  for (const Function f : {ct::gammainc, ct::gammaincc, ct::gammal, ct::gammau}) {
    ct::verify_grad([&](const std::vector<Variable>& v) { return f(ct::constant(orders), v[0]); }, {points}, 2);
    CHECK_THROWS_AS(ct::grad(ct::sum(f(a, x)), a), ct::NullTypeGradError);
  }
  for (const Function f : {ct::jv, ct::iv}) {
    ct::verify_grad([&](const std::vector<Variable>& v) { return f(ct::constant(Array{0.7, 0.0, 3.5, -1.0}), v[0]); },
                    {Array{0.4, 2.0, 3.0, 4.5}}, 2);
    CHECK_THROWS_AS(ct::grad(ct::sum(f(a, x)), a), ct::NullTypeGradError);
  }
  ct::verify_grad([&](const std::vector<Variable>& v) { return ct::chi2sf(v[0], ct::constant(orders)); }, {points}, 2);
  CHECK_THROWS_WITH(ct::grad(ct::sum(ct::chi2sf(x, a)), a), Catch::Contains("chi2sf has no gradient by its order"));
  // An order that is an input does not prevent the gradient with respect to x; at 0 it is the density's.
  const auto slope = compile("mode=run", {a, x}, {ct::grad(ct::sum(ct::gammainc(a, x)), x)})(Array{1.0, 2.0, 0.5},
                                                                                             Array{0., 0., 0.})[0];
  CHECK(slope.at<double>(0) == 1);
  CHECK(slope.at<double>(1) == 0);
  CHECK(std::isinf(slope.at<double>(2)));
}
