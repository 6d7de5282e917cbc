// Updates that are products: they accumulate into the variable in place, with any factors.
#include <croton/croton.hpp>

#include "backends.hpp"
#include "catch.hpp"

namespace ct = croton;
using Catch::Matchers::Contains;
using ct::Array;
using ct::DType;
using ct::SharedVariable;
using ct::Variable;

namespace {

using Variables = std::vector<Variable>;

constexpr std::int64_t batch = 6, inputs = 9, outputs = 7;

Array reals(const ct::Sizes& shape, std::uint64_t seed) { return Array::uniform(DType::float32, shape, seed, -1, 1); }

/// A learning step, in terms of the weights, two batches and their gradients, and the rate.
struct Rule {
  std::string name;
  std::function<Variable(const Variable& w, const Variables& x, const Variables& g, const Variable& rate)> next;
  int folded;  // products that the plan adds to the weights
  bool needs_special_values = false;
};

Variable gradient(const Variable& x, const Variable& g) { return ct::dot(ct::transpose(x), ct::tanh(g)); }

const std::vector<Rule> rules = {
    {"plain", [](const auto& w, const auto& x, const auto& g, const auto&) { return w - gradient(x[0], g[0]); }, 1},
    {"constant rate",
     [](const auto& w, const auto& x, const auto& g, const auto&) { return w - 0.25 * gradient(x[0], g[0]); }, 1},
    {"decay",
     [](const auto& w, const auto& x, const auto& g, const auto&) { return 0.5 * w - 0.25 * gradient(x[0], g[0]); }, 1},
    {"a rate that is given",
     [](const auto& w, const auto& x, const auto& g, const auto& rate) { return w - rate * gradient(x[0], g[0]); }, 1,
     true},
    {"two batches",
     [](const auto& w, const auto& x, const auto& g, const auto& rate) {
       return w - rate * (gradient(x[0], g[0]) - gradient(x[1], g[1]));
     },
     2, true},
    {"two batches with decay and a factor on one side",
     [](const auto& w, const auto& x, const auto& g, const auto& rate) {
       return 0.5 * w + rate * rate * (-gradient(x[0], g[0])) + gradient(x[1], g[1]) * 0.125;
     },
     2, true},
    // The scaled side is the left one, below its view: the right one is unscaled.
    {"a factor on the left",
     [](const auto& w, const auto& x, const auto& g, const auto& rate) {
       return w - rate * ct::dot(ct::transpose(ct::exp(x[0])), g[0]);
     },
     1, true},
    {"no side takes the factor",
     [](const auto& w, const auto& x, const auto& g, const auto& rate) {
       return w - rate * ct::dot(ct::transpose(x[0]), g[0]);
     },
     0},
    {"twice the weights",
     [](const auto& w, const auto& x, const auto& g, const auto&) { return w + w - gradient(x[0], g[0]); }, 1},
    {"a bias in addition to the products",
     [](const auto& w, const auto& x, const auto& g, const auto&) {
       return w - gradient(x[0], g[0]) - ct::sum(g[1], 0);
     },
     0},
};

struct Step {
  SharedVariable w;
  Variables in;
  ct::Function f;
};

/// Also returns a product that reads the weights, so that these must not be overwritten before.
Step step_of(const Rule& rule) {
  Step step;
  step.w = ct::shared(reals({inputs, outputs}, 1), {.name = "w"});
  const Variables x = {ct::fmatrix("x"), ct::fmatrix("y")}, g = {ct::fmatrix("g"), ct::fmatrix("h")};
  const Variable rate = ct::fscalar("rate");
  step.in = {x[0], x[1], g[0], g[1], rate};
  step.f =
      ct::function({x[0], x[1], g[0], g[1], rate}, ct::dot(x[0], step.w),
                   {.updates = {{step.w, rule.next(step.w, x, g, rate)}}, .on_unused_input = ct::UnusedInput::ignore});
  return step;
}

std::vector<Array> run(const Step& step) {
  const Array x = reals({batch, inputs}, 2), y = reals({batch, inputs}, 3), g = reals({batch, outputs}, 4),
              h = reals({batch, outputs}, 5);
  std::vector<Array> results;
  for (const float rate : {0.5f, -2.f}) results.push_back(step.f(x, y, g, h, rate).only().copy());
  results.push_back(step.w.get_value());
  return results;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("an update that is products writes them over the variable") {
  const Rule rule = GENERATE(from_range(rules));
  const std::string device = "cuda_simulator=1,device=cuda0";
  const std::string backend = GENERATE_COPY(from_range(croton_test::backends()), device);
  INFO(rule.name << " " << backend);
  const std::vector<Array> wanted = [&] {
    const ct::change_flags flags("mode=reference,optimizer=none");
    return run(step_of(rule));
  }();
  for (const bool ieee : {false, true}) {
    const ct::change_flags flags(backend + (ieee ? ",special_values=ieee" : ""));
    const Step step = step_of(rule);
    const std::vector<Array> got = run(step);
    // Sums of at most 6 terms, and the weights after two steps: a few roundings of float32.
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].all_close(wanted[i], 1e-5, 1e-5));
    if (backend != "mode=run" && backend != device) continue;  // else the weights are elsewhere
    const int folded = ieee && rule.needs_special_values ? 0 : rule.folded;
    const std::string plan = step.f.plan();
    INFO(plan);
    // "b7 = -1 b2^T b3 + 1 b4", after the commit point, without new memory.
    const std::string last = plan.substr(plan.find("-- commit"));
    CHECK(count(last, " + ") == static_cast<std::size_t>(folded));
    CHECK(count(plan, "in the memory of b5") >= static_cast<std::size_t>(folded));
  }
}

TEST_CASE("a product that reads the variable, after another product was added to it, is not written over it") {
  const std::string backend = GENERATE(from_range(croton_test::backends()));
  INFO(backend);
  const auto step = [] {
    const SharedVariable w = ct::shared(reals({outputs, outputs}, 1), {.name = "w"});
    const Variable x = ct::fmatrix("x"), y = ct::fmatrix("y");
    const ct::Function f = ct::function({x, y}, {}, {.updates = {{w, w - ct::dot(x, y) - ct::dot(w, y)}}});
    f(reals({outputs, outputs}, 2), reals({outputs, outputs}, 3));
    f(reals({outputs, outputs}, 4), reals({outputs, outputs}, 5));
    return w.get_value();
  };
  const Array wanted = [&] {
    const ct::change_flags flags("mode=reference,optimizer=none");
    return step();
  }();
  const ct::change_flags flags(backend);
  CHECK(step().all_close(wanted, 1e-5, 1e-5));
}

TEST_CASE("a small factor of an update does not underflow on the way") {
  // rate * g is far below the smallest float32, x * g is not: the promise of special_values=ieee.
  const ct::change_flags flags("special_values=ieee");
  const SharedVariable w = ct::shared(Array::zeros(DType::float32, {2, 2}), {.name = "w"});
  const Variable x = ct::fmatrix("x"), g = ct::fmatrix("g"), rate = ct::fscalar("rate");
  const ct::Function f =
      ct::function({x, g, rate}, {}, {.updates = {{w, w + rate * ct::dot(ct::transpose(x), ct::abs(g))}}});
  f(Array::full(DType::float32, {3, 2}, 1e30), Array::full(DType::float32, {3, 2}, 1e-30), 1e-20f);
  CHECK(w.get_value().all_close(Array::full(DType::float32, {2, 2}, 3e-20), 1e-5, 0));
}
