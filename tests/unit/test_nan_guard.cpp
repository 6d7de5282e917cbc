// nan_guard: the op that it names, forward and backward, on every kind of kernel and device; and that a call that
// raises changes nothing.
#include <croton/croton.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "contains.hpp"
#include "machines.hpp"

namespace ct = croton;
using ct::Array;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The message of the call's error.
template <class... A>
std::string message(const ct::Function& f, const A&... arguments) {
  try {
    f(arguments...);
  } catch (const ct::NanError& error) {
    return error.what();
  }
  return "nothing was raised";
}

/// "test_nan_guard.cpp:12": the line after that of the caller.
std::string next_line(ct::Where where = std::source_location::current()) {
  return "test_nan_guard.cpp:" + std::to_string(where.line() + 1);
}

}  // namespace

TEST_CASE("the first op that made a nan is named, with its line and what it was made from") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::vector("x");
  const std::string at = next_line();
  const auto y = ct::log(x);
  const auto f = ct::function({x}, ct::exp(y) * 2 + 1, {.name = "f"});
  CHECK(f(Array{1.f, 2.f}).only().all_close(Array{3.f, 5.f}));
  const std::string text = message(f, Array{1.f, -1.f, 0.5f, -2.f});
  CHECK_THAT(text, contains("f: nan_guard: log (" + at + ") made 2 nan of 4 elements, the first at [1]"));
  CHECK_THAT(text, contains("of x (test_nan_guard.cpp:"));
  CHECK_THAT(text, contains("f32[4]: -2 to 1, 0 zero, 2 negative"));
}

TEST_CASE("an op of a gradient is named with its forward op") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::vector("x");
  const std::string at = next_line();
  const auto cost = ct::sum(ct::sqrt(x));
  const auto f = ct::function({x}, ct::grad(cost, x));
  CHECK(f(Array{1.f, 4.f}).only().all_close(Array{0.5f, 0.25f}));
  const std::string text = message(f, Array{1.f, 0.f});
  CHECK_THAT(text, contains("in the gradient of sqrt (" + at + ") made 1 inf of 2 elements, the first at [1]"));
}

TEST_CASE("kinds: nan, inf and big are looked for by themselves") {
  const auto x = ct::vector("x");
  const auto made = [&](const std::string& kinds, float value) {
    const ct::change_flags flags{"nan_guard=" + kinds};
    return message(ct::function({x}, x * 2.f), Array{value}) != "nothing was raised";
  };
  CHECK(made("nan", not_a_number));
  CHECK_FALSE(made("nan", infinite));
  CHECK_FALSE(made("nan", 1e20f));
  CHECK_FALSE(made("inf", not_a_number));
  CHECK(made("inf", infinite));
  CHECK_FALSE(made("inf", 1e20f));
  CHECK_FALSE(made("big", not_a_number));
  CHECK(made("big", infinite));
  CHECK(made("big", -1e20f));
  CHECK(made("nan+inf", not_a_number));
  CHECK(made("nan+inf", -infinite));
  CHECK_FALSE(made("nan+inf", 1e20f));
  CHECK(made("all", 1e20f));
  CHECK_FALSE(made("all", 1e9f));
}

TEST_CASE("inputs and shared variables that hold it already are named as such") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::matrix("x");
  auto w = ct::shared(Array{1.f, not_a_number}.reshape({1, 2}), {.name = "w"});
  CHECK_THAT(
      message(ct::function({x}, x + 1.f), Array{1.f, 2.f, infinite, 3.f}.reshape({2, 2})),
      contains("nan_guard: x (test_nan_guard.cpp:") && contains("holds 1 inf of 4 elements, the first at [1, 0]"));
  CHECK_THAT(
      message(ct::function({x}, x * w), Array{1.f, 2.f}.reshape({1, 2})),
      contains("nan_guard: w (test_nan_guard.cpp:") && contains("holds 1 nan of 2 elements, the first at [0, 1]"));
}

TEST_CASE("a call that raises has changed nothing, whatever computes the update") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::matrix("x");
  auto w = ct::shared(Array{{1.f, 2.f}, {3.f, 4.f}}, {.name = "w"});
  auto n = ct::shared(Array(0.f), {.name = "n"});
  const Array before = w.get_value();
  const auto check = [&](const ct::Variable& value, const Array& good, const Array& bad) {
    const auto f = ct::function({x}, ct::OutputList{}, {.updates = {{w, value}, {n, n + 1.f}}});
    w.set_value(before);
    const double count = n.get_value().item<double>();
    CHECK(message(f, bad) != "nothing was raised");
    CHECK(w.get_value().same_bits(before));
    CHECK(n.get_value().item<double>() == count);
    f(good);
    CHECK_FALSE(w.get_value().same_bits(before));
    CHECK(n.get_value().item<double>() == count + 1);
  };
  const Array ones = Array::full(ct::DType::float32, {2, 2}, 1.0), huge = Array::full(ct::DType::float32, {2, 2}, 3e38);
  check(w - 0.1f * ct::log(x), Array::full(ct::DType::float32, {2, 2}, 2.0), Array::zeros(ct::DType::float32, {2, 2}));
  check(ct::dot(x, w), ones, huge);
  check(w - 0.1f * ct::dot(x, x), ones, huge);
  check(ct::cumsum(x, 0), ones, huge);
}

TEST_CASE("products and routines are looked at, read by a kernel or not") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::matrix("x");
  const Array huge = Array::full(ct::DType::float32, {40, 40}, 1e19);
  for (const ct::Variable& y : {ct::dot(x, x), ct::where(ct::dot(x, x) > 0.f, 1.f, 2.f), ct::cumsum(x * 1e19f, 0),
                                ct::dot(x, ct::dot(x, x)), ct::cumsum(x * 1e19f, 0)[0]}) {
    const auto f = ct::function({x}, y);
    CHECK_THAT(message(f, huge), contains("x (test_nan_guard.cpp"));
  }
  const ct::change_flags no_big{"nan_guard=nan+inf"};
  CHECK_THAT(message(ct::function({x}, ct::dot(x, x)), huge), contains("dot"));
}

TEST_CASE("infinities that are part of a result, and constants, are no faults") {
  const ct::change_flags flags{GENERATE("mode=run,nan_guard=all", "mode=reference,nan_guard=all")};
  const auto x = ct::tensor3("x");
  const auto lengths = ct::lvector("lengths");
  const auto labels = ct::constant(Array(std::vector<std::int64_t>{1, 2, 1, 1}).reshape({2, 2}));
  const auto cost = ct::nnet::ctc(x, labels, lengths);
  const auto f = ct::function({x, lengths}, {cost, ct::grad(ct::sum(cost), x)});
  const Array values = Array::uniform(ct::DType::float32, {3, 2, 3}, 1, -1, 1);
  const Array enough(std::vector<std::int64_t>{3, 3}), too_few(std::vector<std::int64_t>{3, 2});
  CHECK(std::isfinite(f(values, enough)[0].as_double(1)));
  CHECK_THAT(message(f, values, too_few), contains("made 1 inf of 2 elements, the first at [1]"));
  Array bad = values.copy();
  bad.at<float>(0, 0, 0) = not_a_number;
  CHECK_THAT(message(f, bad, enough), contains("x (test_nan_guard.cpp:"));

  const auto y = ct::vector("y");
  const std::string at = next_line();
  const auto capped = ct::where(y > 0, y, ct::constant(Array(infinite)));
  CHECK_THAT(message(ct::function({y}, capped), Array{1.f, -1.f}), contains("where (" + at + ") made 1 inf"));
  const auto limits = ct::constant(Array(std::vector<float>{infinite, 3.f}));
  const std::string here = next_line();
  const auto limited = ct::where(y > 0, y, limits);
  CHECK_THAT(message(ct::function({y}, limited), Array{-1.f, -1.f}), contains("where (" + here + ") made 1 inf"));
  for (const char* mode : {"mode=run", "mode=reference"}) {
    const ct::change_flags in(mode);
    CHECK(message(ct::function({y}, ct::minimum(y, limits)), Array{1.f, 5.f}) == "nothing was raised");
  }
}

TEST_CASE("every family of kernels is guarded") {
  const ct::change_flags flags{"nan_guard=nan+inf"};
  const auto x = ct::matrix("x");
  Array bad = Array::full(ct::DType::float32, {70, 300}, 1.0);
  bad.at<float>(69, 299) = -1;
  for (const ct::Variable& y :
       {ct::sum(ct::sqrt(x), 1), ct::sum(ct::sqrt(x), 0), ct::sum(ct::sqrt(x)), ct::sqrt(x) + 1.f,
        ct::sqrt(x) - ct::max(x, ct::ReduceOptions(std::vector<int>{1}, true))}) {
    const auto f = ct::function({x}, y);
    CHECK(message(f, Array::full(ct::DType::float32, {70, 300}, 1.0)) == "nothing was raised");
    CHECK_THAT(message(f, bad), contains("sqrt") && contains("made 1 nan of 21000 elements, the first at [69, 299]"));
  }
}

TEST_CASE("16 bits overflow when they are rounded") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::vector("x", ct::DType::float16);
  const auto f = ct::function({x}, x * x);
  CHECK(message(f, Array{100.f}.astype(ct::DType::float16)) == "nothing was raised");
  CHECK_THAT(message(f, Array{300.f}.astype(ct::DType::float16)), contains("made 1 inf of 1 element,"));
}

TEST_CASE("complex numbers are guarded in both parts") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::variable(ct::Type{ct::DType::complex64, {ct::unknown_size}}, "x");
  const auto f = ct::function({x}, x * x);
  const auto value = [](std::complex<double> z) { return Array::full(ct::DType::complex64, {2}, z); };
  CHECK(message(f, value({1, 2})) == "nothing was raised");
  CHECK_THAT(message(f, value({0, not_a_number})), contains("x (test_nan_guard.cpp"));
}

TEST_CASE("an op that a rewrite has removed raises nothing") {
  const ct::change_flags flags{"nan_guard=nan+inf"};
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::log(ct::exp(x)));
  CHECK(f(Array{1000.f}).only().all_close(Array{1000.f}));
  const ct::change_flags plain{"optimizer=none"};
  CHECK_THAT(message(ct::function({x}, ct::log(ct::exp(x))), Array{1000.f}), contains("exp"));
}

TEST_CASE("under mode=reference every node is looked at") {
  const ct::change_flags flags{"mode=reference,nan_guard=all"};
  const auto x = ct::vector("x");
  // The nan does not reach the output.
  const auto f = ct::function({x}, ct::where(ct::isnan(ct::log(x)), 0.f, x));
  CHECK_THAT(message(f, Array{-1.f}), contains("log"));
  const ct::change_flags compiled{"mode=run"};
  const auto g = ct::function({x}, ct::where(ct::isnan(ct::log(x)), 0.f, x));
  CHECK(message(g, Array{-1.f}) == "nothing was raised");
}

TEST_CASE("on simulated and fake devices, and on parts of the host") {
  for (const auto kind : croton::test::Machine::all()) {
    const croton::test::Machine machine(kind);
    const ct::change_flags guard{"nan_guard=all"};
    const ct::change_flags device{"device=" + machine.first};
    const auto x = ct::matrix("x");
    auto w = ct::shared(Array{{1.f, 2.f}, {3.f, 4.f}}, {.name = "w"});
    const Array before = w.get_value();
    const auto f = ct::function({x}, ct::sum(ct::log(x)), {.updates = {{w, w + ct::log(x)}}});
    CHECK_THAT(message(f, Array{{1.f, 2.f}, {3.f, -4.f}}),
               contains("log") && contains("made 1 nan of 4 elements, the first at [1, 1]"));
    CHECK(w.get_value().same_bits(before));
    f(Array{{1.f, 2.f}, {3.f, 4.f}});
    CHECK_FALSE(w.get_value().same_bits(before));
  }
}

TEST_CASE("copies of a function are guarded") {
  const ct::change_flags flags{"nan_guard=all"};
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::log(x)).copy();
  CHECK_THAT(message(f, Array{-1.f}), contains("log"));
}

TEST_CASE("a nan that the program replaces is not named for one that it does not replace") {
  const ct::change_flags flags{"nan_guard=nan"};
  const auto x = ct::vector("x"), y = ct::scalar("y");
  const auto dealt_with = ct::where(ct::isnan(ct::log(x)), 0, x);
  const std::string at = next_line();
  const auto missed = ct::log(y);
  const auto f = ct::function({x, y}, {dealt_with, missed});
  CHECK(message(f, Array{-1.f, 2.f}, Array(1.f)) == "nothing was raised");
  CHECK_THAT(message(f, Array{-1.f, 2.f}, Array(-1.f)), contains("log (" + at + ") made 1 nan of 1 element"));
  // Both are on one line, which is not the line of the results.
  const auto z = dealt_with + missed;
  CHECK_THAT(message(ct::function({x, y}, ct::exp(z) * 2), Array{-1.f, 2.f}, Array(-1.f)),
             contains("log (" + at + ") made 1 nan"));
}

TEST_CASE("sequences without labels are no fault of ctc") {
  const std::string mode = GENERATE("mode=run", "mode=reference");
  const ct::change_flags flags{mode + ",nan_guard=all"};
  const auto x = ct::variable({ct::DType::float32, ct::Sizes(3, ct::unknown_size)}, "x"), y = ct::scalar("y");
  const auto labels = ct::imatrix("labels"), lengths = ct::ivector("lengths");
  const ct::Variable cost = ct::sum(ct::nnet::ctc(x, labels, lengths)) + ct::log(y);
  const auto f = ct::function({x, labels, lengths, y}, {cost, ct::grad(cost, x)});
  const Array activations = Array::uniform(ct::DType::float32, {4, 1, 3}, 5, -1, 1);
  const Array none = Array{-1, -1}.reshape({1, 2});
  CHECK(message(f, activations, none, Array{4}, Array(1.f)) == "nothing was raised");
  CHECK_THAT(message(f, activations, none, Array{4}, Array(-1.f)), contains("nan_guard: log ("));
}
