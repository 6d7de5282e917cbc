// Each stability rule: each form at points where it overflows, underflows or cancels as written, value and gradient on
// every back-end, against numbers that plain C++ computes in double precision from an exact form. A rule that no form
// here triggers fails the last test.
#include "samples.hpp"

#include <array>
#include <set>
#include <sstream>

#include "rewrite/pipeline.hpp"

using namespace croton_test;

namespace {

struct Form {
  std::string name;
  std::function<Variable(const Variable&)> f;
  double x;
  double value, gradient;
};

double sigmoid_of(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

std::vector<Form> forms() {
  const double root_pi = std::sqrt(std::acos(-1.0));
  const auto bell = [&](double x) { return 2 / root_pi * std::exp(-x * x); };
  const auto slope = [](double x) { return sigmoid_of(x) * sigmoid_of(-x); };
  const double tiny = 1e-9;
  using V = const Variable&;
  return {
      {"log(1 + x)", [](V x) { return ct::log(1 + x); }, tiny, tiny, 1},
      {"log(1 - x)", [](V x) { return ct::log(1 - x); }, tiny, -tiny, -1},
      {"exp(x) - 1", [](V x) { return ct::exp(x) - 1; }, tiny, tiny, 1},
      {"exp(x) + -1", [](V x) { return ct::exp(x) + -1; }, -tiny, -tiny, 1},
      {"1 - exp(x)", [](V x) { return 1 - ct::exp(x); }, tiny, -tiny, -1},
      {"1 - erf(x)", [](V x) { return 1 - ct::erf(x); }, 6, std::erfc(6), -bell(6)},
      {"1 + erf(x)", [](V x) { return 1 + ct::erf(x); }, -6, std::erfc(6), bell(6)},
      {"erf(x) - 1", [](V x) { return ct::erf(x) - 1; }, 6, -std::erfc(6), bell(6)},
      {"1 - erfc(x)", [](V x) { return 1 - ct::erfc(x); }, tiny, 2 / root_pi * tiny, bell(0)},
      {"erfc(x) - 1", [](V x) { return ct::erfc(x) - 1; }, tiny, -2 / root_pi * tiny, -bell(0)},
      {"-1 + erf(x)", [](V x) { return -1 + ct::erf(x); }, 6, -std::erfc(6), bell(6)},
      {"-1 - erf(x)", [](V x) { return -1 - ct::erf(x); }, -6, -std::erfc(6), -bell(6)},
      {"-1 + erfc(x)", [](V x) { return -1 + ct::erfc(x); }, tiny, -2 / root_pi * tiny, -bell(0)},
      {"2 - erfc(x)", [](V x) { return 2 - ct::erfc(x); }, -6, std::erfc(6), bell(6)},
      {"log(1 + exp(x))", [](V x) { return ct::log(1 + ct::exp(x)); }, 200, 200, 1},
      {"log(sigmoid(x))", [](V x) { return ct::log(ct::sigmoid(x)); }, -200, -200, 1},
      {"log(1 - sigmoid(x))", [](V x) { return ct::log(1 - ct::sigmoid(x)); }, 200, -200, -1},
      {"log1p(-sigmoid(x))", [](V x) { return ct::log1p(-ct::sigmoid(x)); }, 200, -200, -1},
      {"1 - sigmoid(x)", [](V x) { return 1 - ct::sigmoid(x); }, 50, sigmoid_of(-50), -slope(50)},
      {"sigmoid(x) - 1", [](V x) { return ct::sigmoid(x) - 1; }, 50, -sigmoid_of(-50), slope(50)},
      {"-1 + sigmoid(x)", [](V x) { return -1 + ct::sigmoid(x); }, 50, -sigmoid_of(-50), slope(50)},
      {"1 / (1 + exp(-x))", [](V x) { return 1 / (1 + ct::exp(-x)); }, -80, sigmoid_of(-80), slope(80)},
      {"1 / (1 + exp(x))", [](V x) { return 1 / (1 + ct::exp(x)); }, 80, sigmoid_of(-80), -slope(80)},
      {"reciprocal(1 + exp(-x))", [](V x) { return ct::reciprocal(1 + ct::exp(-x)); }, -80, sigmoid_of(-80), slope(80)},
      {"reciprocal(1 + exp(x))", [](V x) { return ct::reciprocal(1 + ct::exp(x)); }, 200, 0, 0},
      {"exp(x) / (1 + exp(x))",
       [](V x) {
         const Variable e = ct::exp(x);
         return e / (1 + e);
       },
       200, 1, 0},
      {"x / (1 + exp(x))", [](V x) { return x / (1 + ct::exp(x)); }, 80, 80 * sigmoid_of(-80), -79 * sigmoid_of(-80)},
      {"x / (1 + exp(-x))", [](V x) { return x / (1 + ct::exp(-x)); }, -200, 0, 0},
      {"exp(x) sigmoid(-x)", [](V x) { return ct::exp(x) * ct::sigmoid(-x); }, 200, 1, 0},
      {"exp(x) / (exp(x) + exp(x - 2))", [](V x) { return ct::exp(x) / (ct::exp(x) + ct::exp(x - 2)); }, 200,
       sigmoid_of(2), 0},
      {"exp((-x) x) erfcx(x)", [](V x) { return ct::exp(-x * x) * ct::erfcx(x); }, -30, 2, 0},
      {"exp(x) / (exp(x) - 1)", [](V x) { return ct::exp(x) / (ct::exp(x) - 1); }, 200, 1, 0},
      {"exp(x) / (exp(x) + 3)", [](V x) { return ct::exp(x) / (ct::exp(x) + 3); }, 200, 1, 0},
      {"log(sum(exp))", [](V x) { return ct::log(ct::exp(x) + ct::exp(x - 2)); }, 200, 200 + std::log1p(std::exp(-2)),
       1},
  };
}

}  // namespace

TEST_CASE("forms that overflow or cancel, at extreme points") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  for (const Form& form : forms()) {
    INFO(form.name << " at " << form.x);
    const auto x = ct::vector("x");
    const Variable y = form.f(x);
    const auto r = compile(mode, {x}, {y, ct::grad(ct::sum(y), x)})(Array{static_cast<float>(form.x)});
    const double x_rounded = static_cast<float>(form.x);
    CHECK(r[0].as_double(0) == Approx(form.value).epsilon(1e-5 + std::abs(x_rounded - form.x)).margin(1e-37));
    CHECK(r[1].as_double(0) == Approx(form.gradient).epsilon(1e-5).margin(form.gradient == 0 ? 1e-6 : 1e-37));
  }
}

namespace {

/// exp(x x) erfc(x) for large x, by its asymptotic series.
double erfcx_of_large(double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
  return sum / (x * std::sqrt(std::acos(-1.0)));
}

/// Forms at points where they fail in both precisions. `value` and `gradient` are called with x rounded to the
/// precision.
struct PreciseForm {
  std::string name;
  std::function<Variable(const Variable&)> f;
  double x;
  std::function<double(double)> value, gradient;
  double margin = 0;  // of the gradient, in units of rounding: not 0 if it is a difference
};

std::vector<PreciseForm> precise_forms() {
  using V = const Variable&;
  const double slope_at_0 = 2 / std::sqrt(std::acos(-1.0));
  const auto log1mexp = [](double x) { return x < -1 ? std::log1p(-std::exp(x)) : std::log(-std::expm1(x)); };
  const auto log1mexp_slope = [](double x) { return std::exp(x) / std::expm1(x); };
  const auto itself = [](double x) { return x; };
  const auto constant = [](double c) { return [c](double) { return c; }; };
  const auto log_erfc = [](double x) { return std::log(erfcx_of_large(x)) - x * x; };
  std::vector<PreciseForm> all = {
      {"log(1 - exp(-x))", [](V x) { return ct::log(1 - ct::exp(-x)); }, 50, [&](double x) { return log1mexp(-x); },
       [&](double x) { return -log1mexp_slope(-x); }},
      {"log(expm1(x))", [](V x) { return ct::log(ct::expm1(x)); }, 800, itself, constant(1)},
      {"log(exp(x) - 1)", [](V x) { return ct::log(ct::exp(x) - 1); }, 1e-9,
       [](double x) { return std::log(std::expm1(x)); }, [](double x) { return std::exp(x) / std::expm1(x); }},
      {"log(exp(x) + 3)", [](V x) { return ct::log(ct::exp(x) + 3); }, 800, itself, constant(1)},
      {"log(exp(x) + 3)", [](V x) { return ct::log(ct::exp(x) + 3); }, -800, constant(std::log(3)), constant(0)},
      {"log(exp(x) + exp(x - 2))", [](V x) { return ct::log(ct::exp(x) + ct::exp(x - 2)); }, 800,
       [](double x) { return x + std::log1p(std::exp(-2)); }, constant(1)},
      {"log2(exp2(x) + exp2(x - 1))", [](V x) { return ct::log2(ct::exp2(x) + ct::exp2(x - 1)); }, 2000,
       [](double x) { return x + std::log2(1.5); }, constant(1)},
      {"exp(x x) erfc(x)", [](V x) { return ct::exp(ct::sqr(x)) * ct::erfc(x); }, 30, erfcx_of_large,
       [=](double x) { return 2 * x * erfcx_of_large(x) - slope_at_0; }, 4},
      {"log(erfc(x))", [](V x) { return ct::log(ct::erfc(x)); }, 30, log_erfc,
       [=](double x) { return -slope_at_0 / erfcx_of_large(x); }},
      {"log(erfc(x))", [](V x) { return ct::log(ct::erfc(x)); }, -30, constant(std::log(2)), constant(0)},
      {"log(erfc(x))", [](V x) { return ct::log(ct::erfc(x)); }, 1e-12,
       [](double x) { return std::log1p(-std::erf(x)); },
       [=](double x) { return -slope_at_0 * std::exp(-x * x) / std::erfc(x); }},
      {"log(erfc(x) / 2)", [](V x) { return ct::log(ct::erfc(x) / 2); }, 30,
       [=](double x) { return log_erfc(x) - std::log(2); }, [=](double x) { return -slope_at_0 / erfcx_of_large(x); }},
      // The logarithm of a normal distribution, without a factor of x that floatX would round.
      {"log(erfc(-0.75 x) / 2)", [](V x) { return ct::log(0.5 * ct::erfc(-0.75 * x)); }, -60,
       [=](double x) { return log_erfc(-0.75 * x) - std::log(2); },
       [=](double x) { return 0.75 * slope_at_0 / erfcx_of_large(-0.75 * x); }},
  };
  // Points at which exp overflows, or 1 / exp does, or neither.
  for (const double x : {800.0, -800.0, 0.5}) {
    all.push_back({"exp(x) / expm1(x)", [](V v) { return ct::exp(v) / ct::expm1(v); }, x,
                   [](double u) { return -1 / std::expm1(-u); },
                   [](double u) { return 1 / (std::expm1(-u) * std::expm1(u)); }});
    all.push_back({"x exp(-x) exp(x)", [](V v) { return v * ct::exp(-v) * ct::exp(v); }, x, itself, constant(1)});
    all.push_back({"x exp(-x) / exp(-x)", [](V v) { return v * ct::exp(-v) / ct::exp(-v); }, x, itself, constant(1)});
    all.push_back({"1 + expm1(x)", [](V v) { return ct::expm1(v) + 1; }, -std::abs(x),
                   [](double u) { return std::exp(u); }, [](double u) { return std::exp(u); }});
  }
  const auto erfcx_slope = [=](double x) { return 2 * x * std::exp(x * x) * std::erfc(x) - slope_at_0; };
  for (const double x : {30.0, -30.0}) {
    const auto erfc = [](double u) { return std::erfc(u); };
    const auto bell = [=](double u) { return -slope_at_0 * std::exp(-u * u); };
    all.push_back({"erfcx(x) exp(-x^2)", [](V v) { return ct::erfcx(v) * ct::exp(-ct::sqr(v)); }, x, erfc, bell});
  }
  all.push_back({"exp(x^2) erfc(x)", [](V v) { return ct::exp(ct::pow(v, 2)) * ct::erfc(v); }, 0.5,
                 [](double u) { return std::exp(u * u) * std::erfc(u); }, erfcx_slope});
  for (const double x : {-50.0, -1e-30, -0.5}) {
    all.push_back({"log(1 - exp(x))", [](V v) { return ct::log(1 - ct::exp(v)); }, x, log1mexp, log1mexp_slope});
    all.push_back({"log1p(-exp(x))", [](V v) { return ct::log1p(-ct::exp(v)); }, x, log1mexp, log1mexp_slope});
    all.push_back({"log(-expm1(x))", [](V v) { return ct::log(-ct::expm1(v)); }, x, log1mexp, log1mexp_slope});
  }
  return all;
}

}  // namespace

TEST_CASE("logarithms and products of exponentials, in both precisions") {
  const std::string mode = GENERATE(from_range(backends()));
  // Under fast_compile the canonical rules do not help.
  const std::string optimizer = GENERATE("fast_run", "fast_compile");
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const double unit = dtype == DType::float32 ? 0x1p-23 : 0x1p-52;
  CAPTURE(mode, optimizer, name_of(dtype));
  for (const PreciseForm& form : precise_forms()) {
    INFO(form.name << " at " << form.x);
    const auto v = ct::vector("x", dtype);
    const Variable y = form.f(v);
    const Array at = Array{form.x}.astype(dtype);
    const double x = at.as_double(0);
    const auto r = compile(mode + ",optimizer=" + optimizer, {v}, {y, ct::grad(ct::sum(y), v)})(at);
    CHECK(r[0].as_double(0) == Approx(form.value(x)).epsilon(32 * unit).margin(0));
    CHECK(r[1].as_double(0) == Approx(form.gradient(x)).epsilon(32 * unit).margin(form.margin * unit));
  }
}

TEST_CASE("powers of exponentials that overflow by themselves") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float32, DType::float64);
  CAPTURE(mode, name_of(dtype));
  const double x = dtype == DType::float32 ? 150 : 1000;
  const auto v = ct::vector("v", dtype);
  const Variable root = ct::sqrt(ct::exp(v)), power = ct::pow(ct::exp(v), 0.25);
  const auto r = compile(
      mode, {v}, {root, ct::grad(ct::sum(root), v), power, ct::grad(ct::sum(power), v)})(Array{x}.astype(dtype));
  const double epsilon = dtype == DType::float32 ? 1e-4 : 1e-12;  // the unit of the exponent times the exponent
  CHECK(r[0].as_double(0) == Approx(std::exp(x / 2)).epsilon(epsilon));
  CHECK(r[1].as_double(0) == Approx(std::exp(x / 2) / 2).epsilon(epsilon));
  CHECK(r[2].as_double(0) == Approx(std::exp(x / 4)).epsilon(epsilon));
  CHECK(r[3].as_double(0) == Approx(std::exp(x / 4) / 4).epsilon(epsilon));
}

TEST_CASE("softmax and log-sum-exp of 16-bit floats by hand, whose sums are computed in float32") {
  const std::string mode = GENERATE(from_range(backends()));
  const DType dtype = GENERATE(DType::float16, DType::bfloat16);
  CAPTURE(mode, name_of(dtype));
  // exp overflows above 11.1 and 88.7.
  const double large = dtype == DType::float16 ? 64 : 256, unit = dtype == DType::float16 ? 0x1p-10 : 0x1p-7;
  const auto x = ct::matrix("x", dtype);
  const Variable e = ct::exp(x), kept = ct::sum(e, ct::ReduceOptions(std::vector{1}, true)), rows = ct::sum(e, 1);
  const Variable shares = e / kept, by_hand = e / ct::dimshuffle(rows, {0, ct::broadcast_axis});
  const Variable logs = ct::log(rows), kept_logs = ct::log(kept);
  const Variable moved_logs = ct::log(ct::dimshuffle(rows, {ct::broadcast_axis, 0}));
  const auto slope = [&](const Variable& y) { return ct::grad(ct::sum(y * ct::arange(1, 3)), x); };
  const auto r = compile(mode, {x},
                         {shares, by_hand, logs, kept_logs, slope(shares), slope(kept_logs), moved_logs,
                          ct::grad(ct::sum(moved_logs), x)})(Array{{large, large}, {-large, 1 - large}}.astype(dtype));
  const double p = sigmoid_of(-1), slopes = p * (1 - p);
  const auto check = [&](const Array& got, const Array& wanted) {
    CHECK(got.dtype() == dtype);
    CHECK(got.astype(DType::float64).all_close(wanted, 2 * unit, unit / 4));
  };
  const Array shares_wanted{{0.5, 0.5}, {p, 1 - p}};
  check(r[0], shares_wanted);
  check(r[1], shares_wanted);
  const double first = large + std::log(2), second = 1 - large + std::log1p(std::exp(-1));
  check(r[2], Array{first, second});
  check(r[3], Array{{first}, {second}});
  check(r[4], Array{{-0.25, 0.25}, {-slopes, slopes}});
  check(r[5], Array{{1.5, 1.5}, {3 * p, 3 * (1 - p)}});
  check(r[6], Array{{first, second}});
  check(r[7], shares_wanted);
}

TEST_CASE("infinities, nan and zeros come out as written under special_values=ieee") {
  const auto inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const PreciseForm& form : precise_forms()) {
    INFO(form.name);
    const auto x = ct::dvector("x");
    const Variable y = form.f(x);
    const Array points{inf, -inf, nan, 0.0, -0.0};
    const auto with = compile("mode=reference,special_values=ieee", {x}, {y, ct::grad(ct::sum(y), x)})(points);
    const auto without = compile("mode=reference,optimizer=none", {x}, {y, ct::grad(ct::sum(y), x)})(points);
    CHECK(with[0].all_close(without[0], 1e-12, 1e-12));
    // A gradient divides by 1 - exp(0), and a zero may change its sign.
    CHECK(with[1].slice(0, 0, 3).all_close(without[1].slice(0, 0, 3), 1e-12, 1e-12));
  }
}

TEST_CASE("the largest of what rises with x, where rounding makes several equal") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::matrix("x");
  const Array values{{30.f, 40.f, 35.f}, {-300.f, -200.f, -400.f}};
  const std::vector<Variable> all = {ct::argmax(ct::nnet::softmax(x), 1), ct::argmax(ct::nnet::log_softmax(x), 1),
                                     ct::argmax(ct::sigmoid(x), 1),       ct::argmax(ct::tanh(x), 1),
                                     ct::argmax(ct::exp(x), 1),           ct::argmin(ct::sigmoid(-x), 1)};
  const auto found = compile(mode, {x}, all)(values);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(found[i].equals(Array{std::int64_t{1}, std::int64_t{1}}));
  // With the functions' values, the first of the equal ones.
  const auto as_written = compile(mode + ",special_values=ieee", {x}, {all[2]})(values);
  CHECK(as_written[0].equals(Array{std::int64_t{0}, std::int64_t{0}}));
}

TEST_CASE("sums of exponentials over axes, at extreme points") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto m = ct::matrix("m");
  const Array values{{300.f, 300.f}, {-300.f, 300.f}};
  const ct::ReduceOptions columns(std::vector<int>{1}, true);
  const auto at = [&](const Variable& y) { return compile(mode, {m}, {y, ct::grad(ct::sum(y), m)})(values); };
  const float log2 = std::log(2.f);
  const auto per_row = at(ct::log(ct::sum(ct::exp(m), 1)));
  CHECK(per_row[0].all_close(Array{300.f + log2, 300.f}, 1e-6));
  CHECK(per_row[1].all_close(Array{{0.5f, 0.5f}, {0.f, 1.f}}, 1e-6, 1e-30));
  const auto per_column = at(ct::log(ct::sum(ct::exp(m), 0)));
  CHECK(per_column[0].all_close(Array{300.f, 300.f + log2}, 1e-6));
  CHECK(per_column[1].all_close(Array{{1.f, 0.5f}, {0.f, 0.5f}}, 1e-6, 1e-30));
  const auto of_all = at(ct::log(ct::sum(ct::exp(m))));
  CHECK(of_all[0].all_close(Array(300.f + std::log(3.f)), 1e-6));
  const float third = 1.f / 3;
  CHECK(of_all[1].all_close(Array{{third, third}, {0.f, third}}, 1e-5, 1e-30));
  const auto of_mean = at(ct::log(ct::mean(ct::exp(m), 1)));
  CHECK(of_mean[0].all_close(Array{300.f, 300.f - log2}, 1e-6));
  CHECK(of_mean[1].all_close(Array{{0.5f, 0.5f}, {0.f, 1.f}}, 1e-6, 1e-30));
  const auto kept = at(m - ct::log(ct::sum(ct::exp(m), columns)));
  CHECK(kept[0].all_close(Array{{-log2, -log2}, {-600.f, 0.f}}, 0, 3.1e-5));  // a unit in the last place of 300
  CHECK(kept[1].all_close(Array{{0.f, 0.f}, {1.f, -1.f}}, 1e-6, 1e-6));
  const auto of_kept_mean = at(ct::log(ct::mean(ct::exp(m), columns)));
  CHECK(of_kept_mean[0].all_close(Array{{300.f}, {300.f - log2}}, 1e-6));
  CHECK(of_kept_mean[1].all_close(Array{{0.5f, 0.5f}, {0.f, 1.f}}, 1e-6, 1e-30));
}

namespace {

const Array logits{{300.f, 200.f}, {-300.f, 300.f}, {1.f, 2.f}};

/// A cost of softmax(z), as users write it, and its gradient with respect to the logits: in double precision g =
/// softmax(z) (d - sum(d softmax(z))), where d is the gradient with respect to the probabilities, times 1 / p for
/// logarithms.
struct Cost {
  std::string name;
  std::function<Variable(const Variable& z, const Variable& p)> f;
  double value;
  std::vector<double> gradient;
};

struct Probabilities {
  std::vector<double> p, log;  // of the logits, row by row
};
Probabilities probabilities() {
  Probabilities all;
  for (std::int64_t row = 0; row < 3; ++row) {
    const double a = logits.as_double(2 * row), b = logits.as_double(2 * row + 1);
    for (const double difference : {b - a, a - b}) {
      all.p.push_back(1 / (1 + std::exp(difference)));
      all.log.push_back(difference > 0 ? -difference - std::log1p(std::exp(-difference))
                                       : -std::log1p(std::exp(difference)));
    }
  }
  return all;
}

std::vector<Cost> costs() {
  const auto [p, log] = probabilities();
  const std::vector<double> targets{0, 1, 0.5, 0.5, 1, 0};
  const Array classes{std::int64_t{1}, std::int64_t{0}, std::int64_t{0}};
  const std::vector<double> hot{0, 1, 1, 0, 1, 0};
  const Array t = Array(targets).astype(DType::float32).reshape({3, 2}), column{2.f, 0.f};
  double of_targets = 0, of_classes = 0, of_all = 0, of_column = 0;
  std::vector<double> by_targets, by_classes, by_all, by_column, by_weights;
  for (std::size_t i = 0; i < 6; ++i) {
    of_targets -= targets[i] * log[i];
    of_classes -= hot[i] * log[i];
    of_all -= log[i];
    by_targets.push_back(p[i] - targets[i]);
    by_classes.push_back(p[i] - hot[i]);
    by_all.push_back(2 * p[i] - 1);
    if (i % 2 == 0) of_column -= 2 * log[i];
    by_column.push_back(2 * p[i] - (i % 2 == 0 ? 2 : 0));
    by_weights.push_back(i % 2 == 0 ? 2 * p[i] * p[i + 1] : -2 * p[i] * p[i - 1]);
  }
  const auto times = [](std::vector<double> all, double factor) {
    for (double& one : all) one *= factor;
    return all;
  };
  using V = const Variable&;
  const auto rows = ct::arange(3);
  return {
      {"-sum(t log p)", [=](V, V s) { return -ct::sum(t * ct::log(s)); }, of_targets, by_targets},
      {"sum(t log p)", [=](V, V s) { return ct::sum(t * ct::log(s)); }, -of_targets, times(by_targets, -1)},
      {"-mean(t log p)", [=](V, V s) { return -ct::mean(t * ct::log(s)); }, of_targets / 6, times(by_targets, 1. / 6)},
      {"-mean(sum(t log p, 1))", [=](V, V s) { return -ct::mean(ct::sum(t * ct::log(s), 1)); }, of_targets / 3,
       times(by_targets, 1. / 3)},
      {"-mean(log p)", [=](V, V s) { return -ct::mean(ct::log(s)); }, of_all / 6, times(by_all, 1. / 6)},
      {"-sum(column log p) / 2", [=](V, V s) { return -ct::sum(column * ct::log(s)) / 2; }, of_column / 2,
       times(by_column, 0.5)},
      {"-mean(log(p)[rows, classes])", [=](V, V s) { return -ct::mean(ct::log(s).at({rows, ct::constant(classes)})); },
       of_classes / 3, times(by_classes, 1. / 3)},
      {"-mean(log(p[rows, classes]))", [=](V, V s) { return -ct::mean(ct::log(s.at({rows, ct::constant(classes)}))); },
       of_classes / 3, times(by_classes, 1. / 3)},
      {"-sum(log(p[:, 0]) 2)", [=](V, V s) { return -ct::sum(ct::log(s.at({ct::slice(), 0})) * 2); }, of_column,
       by_column},
      {"mean(categorical_crossentropy(p, classes))",
       [=](V, V s) { return ct::mean(ct::nnet::categorical_crossentropy(s, ct::constant(classes))); }, of_classes / 3,
       times(by_classes, 1. / 3)},
      {"mean(categorical_crossentropy(p, t))",
       [=](V, V s) { return ct::mean(ct::nnet::categorical_crossentropy(s, ct::constant(t))); }, of_targets / 3,
       times(by_targets, 1. / 3)},
      {"sum(column p)", [=](V, V s) { return ct::sum(column * s); }, 2 * (p[0] + p[2] + p[4]), by_weights},
      {"mean(logsumexp - sum(t z))",
       [=](V z, V) { return ct::mean(ct::log(ct::sum(ct::exp(z), 1)) - ct::sum(t * z, 1)); }, of_targets / 3,
       times(by_targets, 1. / 3)},
  };
}

/// softmax as users write it.
std::vector<std::function<Variable(const Variable&)>> softmaxes() {
  const ct::ReduceOptions columns(std::vector<int>{1}, true);
  return {[](const Variable& z) { return ct::nnet::softmax(z); },
          [=](const Variable& z) { return ct::exp(z) / ct::sum(ct::exp(z), columns); },
          // The expression of the logits occurs twice.
          [=](const Variable& z) { return ct::exp(2 * z / 2) / ct::sum(ct::exp(2 * z / 2), columns); }};
}

}  // namespace

TEST_CASE("costs of probabilities written by hand, far out") {
  const std::string mode = GENERATE(from_range(backends()));
  const std::string optimizer = GENERATE("fast_run", "fast_compile");
  CAPTURE(mode, optimizer);
  for (const auto& softmax : softmaxes()) {
    for (const Cost& cost : costs()) {
      INFO(cost.name);
      const auto z = ct::matrix("z");
      const Variable y = cost.f(z, softmax(z));
      const auto r = compile(mode + ",optimizer=" + optimizer, {z}, {y, ct::grad(y, z)})(logits);
      CHECK(r[0].as_double(0) == Approx(cost.value).epsilon(1e-5));
      const Array wanted = Array(cost.gradient).astype(DType::float32).reshape({3, 2});
      CHECK(r[1].all_close(wanted, 1e-5, 1e-7));  // differences of probabilities near 1
    }
  }
}

TEST_CASE("a variable of interest inside a stable form is differentiated as it is written") {
  const auto x = ct::dvector("x");
  const Variable e = ct::exp(x), p = e / ct::sum(e);
  const Array at{0.5, -1., 2.};
  const Variable cost = ct::sum(ct::sqr(p));
  const auto r =
      compile("mode=reference", {x},
              {ct::grad(cost, e) * e, ct::grad(cost, x),
               ct::grad(cost, x, {.consider_constant = {e}, .disconnected_inputs = ct::Disconnected::ignore})})(at);
  CHECK(r[0].all_close(r[1], 1e-12));
  CHECK(r[2].equals(Array::zeros(DType::float64, {3})));
}

TEST_CASE("the gradient of a choice does not meet what was not chosen") {
  const std::string mode = GENERATE(from_range(backends()));
  CAPTURE(mode);
  const auto x = ct::vector("x");
  const auto at = [&](const Variable& y) {
    return compile(mode, {x}, {ct::grad(ct::sum(y), x)})(Array{0.f, 4.f, -1.f})[0];
  };
  CHECK(at(ct::where(x > 0, ct::log(x), 0)).equals(Array{0.f, 0.25f, 0.f}));
  CHECK(at(ct::where(x <= 0, 0, ct::log(x))).equals(Array{0.f, 0.25f, 0.f}));
  CHECK(at(ct::where(x <= 0, x, ct::sqrt(x))).equals(Array{1.f, 0.25f, 1.f}));
  CHECK(at(2 * ct::where(x > 0, ct::sqrt(x), 0)).equals(Array{0.f, 0.5f, 0.f}));
}

TEST_CASE("the same under optimizer=fast_compile, where canonical rules do not help") {
  const std::string mode = "mode=run,optimizer=fast_compile";
  const auto x = ct::vector("x");
  const Variable y = ct::log(ct::sigmoid(x));
  const auto r = compile(mode, {x}, {y, ct::grad(ct::sum(y), x)})(Array{-200.f, 200.f, 0.f});
  CHECK(r[0].all_close(Array{-200.f, 0.f, -std::log(2.f)}, 1e-6));
  CHECK(r[1].all_close(Array{1.f, 0.f, 0.5f}, 1e-6));
}

TEST_CASE("of what is written twice one may be of interest") {
  const auto x = ct::dvector("x");
  const Variable first = 2 * x, second = 2 * x, p = ct::exp(first) / ct::sum(ct::exp(second));
  const Variable cost = ct::sum(ct::sqr(p));
  const Array at{0.5, -1., 2.};
  const auto r = compile("mode=reference", {x}, {ct::grad(cost, x), ct::grad(cost, first), ct::grad(cost, second)})(at);
  Array both = Array::empty(DType::float64, {3});
  for (std::int64_t i = 0; i < 3; ++i)
    both.data<double>()[static_cast<std::size_t>(i)] = 2 * (r[1].as_double(i) + r[2].as_double(i));
  CHECK(r[0].all_close(both, 1e-12));
  CHECK(!r[1].all_close(r[2], 1e-3));
}

TEST_CASE("every stability rule is brought to fire by a form of this file") {
  std::set<std::string> fired;
  const auto note = [&](const std::vector<ct::In>& inputs, const std::vector<Variable>& outputs) {
    for (const std::string optimizer : {"fast_run", "fast_compile"}) {
      const ct::change_flags flags("mode=reference,optimizer=" + optimizer);
      std::istringstream lines(ct::function(inputs, outputs).rewrites());
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        if (line.starts_with(" ") && words >> name) fired.insert(name);
      }
    }
  };
  const auto x = ct::vector("x");
  for (const Form& form : forms()) note({x}, {form.f(x), ct::grad(ct::sum(form.f(x)), x)});
  for (const PreciseForm& form : precise_forms()) note({x}, {form.f(x), ct::grad(ct::sum(form.f(x)), x)});
  const auto z = ct::matrix("z");
  for (const auto& softmax : softmaxes()) {
    for (const Cost& cost : costs()) note({z}, {cost.f(z, softmax(z))});
  }
  const ct::ReduceOptions columns(std::vector<int>{1}, true);
  note({z}, {ct::log(ct::sum(ct::exp(z), columns)), ct::log(ct::mean(ct::exp(z), 1)),
             ct::log(ct::mean(ct::exp(z), columns)), ct::argmax(ct::sigmoid(z), 1)});  // in other tests
  for (const ct::rewrite::Group& group : ct::rewrite::groups()) {
    if (group.name != "stability") continue;
    for (const ct::rewrite::Rule& rule : group.rules) {
      CAPTURE(rule.name);
      CHECK(fired.contains(std::string(rule.name)));
    }
  }
}
