// Rules of updates with states, such as the moments of Adam: a parameter and its states are one kernel, those of all
// parameters one launch that reads and writes each array once, and the values are those of a function for each part.
#include <croton/croton.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "backends.hpp"
#include "catch.hpp"
#include "contains.hpp"
#include "machines.hpp"

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::SharedVariable;
using ct::Variable;
using ct::test::FakeGpus;
using Vars = std::vector<Variable>;

namespace {

const ct::OutputList nothing{Vars{}};

/// The next states from the states and the gradient, and the next parameter from the next states.
struct Rule {
  std::size_t states;
  std::function<Vars(const Vars& s, const Variable& g)> next;
  std::function<Variable(const Vars& s, const Variable& p, const Variable& g, const Variable& rate)> step;
};

/// A number in the dtype of `like`.
Variable number(double value, const Variable& like) { return ct::cast(ct::constant(Array(value)), like.dtype()); }

Variable average(double decay, const Variable& old, const Variable& x) {
  return number(decay, x) * old + number(1 - decay, x) * x;
}
Vars moments(const Vars& s, const Variable& g) { return {average(0.9, s[0], g), average(0.99, s[1], g * g)}; }
Variable root(const Variable& square) { return ct::sqrt(square) + number(1e-3, square); }

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      // Adam
      {2, moments, [](auto& s, auto& p, auto&, auto& rate) { return p - rate * s[0] / root(s[1]); }},
      // AdamW with amsgrad
      {3,
       [](auto& s, auto& g) {
         const Vars next = moments(s, g);
         return Vars{next[0], next[1], ct::maximum(s[2], next[1])};
       },
       [](auto& s, auto& p, auto&, auto& rate) { return p - rate * number(0.01, p) * p - rate * s[0] / root(s[2]); }},
      // Nadam
      {2, moments,
       [](auto& s, auto& p, auto& g, auto& rate) {
         return p - rate * (number(0.9, p) * s[0] + number(0.1, p) * g) / root(s[1]);
       }},
      // RMSprop, centered
      {2, moments,
       [](auto& s, auto& p, auto& g, auto& rate) {
         return p - rate * g / ct::sqrt(s[1] - s[0] * s[0] + number(1e-3, p));
       }},
      // AdaGrad
      {1, [](auto& s, auto& g) { return Vars{s[0] + g * g}; },
       [](auto& s, auto& p, auto& g, auto& rate) { return p - rate * g / root(s[0]); }},
      // A rule of a user, with a state that is no average.
      {2,
       [](auto& s, auto& g) {
         return Vars{average(0.9, s[0], ct::tanh(g)), ct::where(g > 0, s[1] + 1, s[1] * number(0.5, g))};
       },
       [](auto& s, auto& p, auto&, auto& rate) { return p - rate * ct::tanh(s[0]) * ct::exp(-s[1]); }}};
  return all;
}

/// Parameters of one dtype with their states and gradients, which steps of a rule change.
struct Problem {
  const Rule* rule;
  DType dtype;
  SharedVariable p, g;
  std::vector<SharedVariable> s;

  Problem(const Rule& r, DType type, const ct::Sizes& shape, std::uint64_t seed) : rule(&r), dtype(type) {
    const auto numbers = [&](double low) {
      return ct::shared(Array::uniform(DType::float32, shape, ++seed, low, 1).astype(type));
    };
    p = numbers(-1);
    g = numbers(-1);
    for (std::size_t i = 0; i < r.states; ++i) s.push_back(numbers(0));
  }
  Vars states() const { return {s.begin(), s.end()}; }
  /// The updates of the states, and of the parameter by the given ones.
  void update_states(ct::FunctionOptions& options, const Vars& next) const {
    for (std::size_t i = 0; i < s.size(); ++i) options.updates.emplace_back(s[i], next[i]);
  }
  void update_parameter(ct::FunctionOptions& options, const Vars& next, const Variable& rate) const {
    options.updates.emplace_back(p, rule->step(next, p, g, ct::cast(rate, dtype)));
  }
  std::int64_t arrays() const { return 3 + 2 * static_cast<std::int64_t>(s.size()); }
};

/// The rate of a step, which no kernel of a parameter computes again.
Variable rate_at(const Variable& step) { return 0.1f * ct::sqrt(1 - ct::pow(0.99f, step)) / (1 - ct::pow(0.9f, step)); }

SharedVariable zero() { return ct::shared(Array(0.f)); }

/// All in one function.
ct::Function together(const std::vector<Problem>& problems) {
  ct::FunctionOptions options;
  const SharedVariable count = zero();
  options.updates.emplace_back(count, count + 1);
  for (const Problem& problem : problems) {
    const Vars next = problem.rule->next(problem.states(), problem.g);
    problem.update_states(options, next);
    problem.update_parameter(options, next, rate_at(count + 1));
  }
  return ct::function({}, nothing, options);
}

/// One function for the rate and the states, and one for the parameters.
std::vector<ct::Function> apart(const std::vector<Problem>& problems) {
  ct::FunctionOptions states, parameters;
  const SharedVariable count = zero(), rate = zero();
  states.updates.emplace_back(count, count + 1);
  states.updates.emplace_back(rate, rate_at(count + 1));
  for (const Problem& problem : problems) {
    problem.update_states(states, problem.rule->next(problem.states(), problem.g));
    problem.update_parameter(parameters, problem.states(), rate);
  }
  return {ct::function({}, nothing, states), ct::function({}, nothing, parameters)};
}

/// All rules for a dtype.
std::vector<Problem> problems_of(DType dtype) {
  std::vector<Problem> all;
  for (const Rule& rule : rules()) all.emplace_back(rule, dtype, ct::Sizes{5, 13}, 20 * all.size());
  return all;
}

std::vector<Array> values_of(const std::vector<Problem>& problems) {
  std::vector<Array> values;
  for (const Problem& problem : problems) {
    values.push_back(problem.p.get_value());
    for (const SharedVariable& s : problem.s) values.push_back(s.get_value());
  }
  return values;
}

}  // namespace

TEST_CASE("parameters that are computed with their states have the bits of those that read them back") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  for (const std::string& backend : croton_test::compiled_backends()) {
    CAPTURE(backend, ct::name_of(dtype));
    const ct::change_flags flags(backend);
    const std::vector<Problem> one = problems_of(dtype), other = problems_of(dtype);
    const ct::Function step = together(one);
    const std::vector<ct::Function> parts = apart(other);
    for (int i = 0; i < 3; ++i) {
      step();
      for (const ct::Function& part : parts) part();
    }
    const std::vector<Array> values = values_of(one), wanted = values_of(other);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(i);
      CHECK(values[i].same_bits(wanted[i]));
    }
  }
}

TEST_CASE("a step is one launch for the rate and one for all parameters, by the driver's count") {
  FakeGpus gpus;
  const ct::change_flags scope("device=cuda0");
  std::vector<Problem> problems;
  for (const Rule& rule : rules()) problems.emplace_back(rule, DType::float32, ct::Sizes{37}, 20 * problems.size());
  const ct::Function step = together(problems);
  for (int i = 0; i < 3; ++i) step();
  const auto launches = [&] { return gpus.cuda().calls("cuLaunchKernel"); };
  const long long before = launches();
  step();
  CHECK(launches() - before == 2);
}

TEST_CASE("a step reads and writes each array once") {
  for (const Rule& rule : rules()) {
    // Equal shapes are no reason to compute several parameters in one kernel: they share one text.
    std::vector<Problem> problems;
    std::int64_t least = 0;
    for (const ct::Sizes& shape : {ct::Sizes{32, 24}, ct::Sizes{48}, ct::Sizes{32, 24}, ct::Sizes{32, 24}}) {
      const Problem& problem = problems.emplace_back(rule, DType::float32, shape, 20 * problems.size());
      least += problem.arrays() * problem.p.get_value().size() * 4;
    }
    const ct::Function step = together(problems);
    CHECK_THAT(step.plan(), contains("one launch of 4 kernels"));
    const std::vector<ct::KernelInfo> kernels = step.kernels("cuda:sm_90");
    REQUIRE(kernels.size() == 2);
    std::int64_t bytes = 0;
    for (const ct::KernelOperand& operand : kernels.back().operands) bytes += operand.bytes * operand.passes;
    CHECK(bytes >= least);
    CHECK(bytes <= least + 4 * 8);  // two numbers of the step for each parameter: the rate, and that of a decay
  }
}

TEST_CASE("parameters of equal sizes are kernels of one text, whatever their number") {
  // Residual layers: the sizes of all weights are known to be equal.
  const std::int64_t d = 8;
  ct::FunctionOptions options;
  const Variable x = ct::matrix("x", DType::float32);
  Variable h = x;
  std::vector<SharedVariable> weights;
  for (std::uint64_t i = 0; i < 12; ++i) {
    weights.push_back(ct::shared(Array::uniform(DType::float32, {d, d}, i, -1, 1)));
    h = h + ct::tanh(ct::dot(h, weights.back()));
  }
  const Vars gradients = ct::grad(ct::sum(h * h), {weights.begin(), weights.end()});
  const SharedVariable count = zero();
  options.updates.emplace_back(count, count + 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Rule& adam = rules()[0];
    std::vector<SharedVariable> s;
    for (int k = 0; k < 2; ++k) s.push_back(ct::shared(Array::zeros(DType::float32, {d, d})));
    const Vars next = adam.next({s[0], s[1]}, gradients[i]);
    options.updates.emplace_back(s[0], next[0]);
    options.updates.emplace_back(s[1], next[1]);
    options.updates.emplace_back(weights[i], adam.step(next, weights[i], gradients[i], rate_at(count + 1)));
  }
  const ct::Function f = ct::function({x}, nothing, options);
  CHECK_THAT(f.plan(), contains("one launch of 12 kernels"));
  const ct::KernelInfo group = f.kernels("cuda:sm_90").back();
  std::size_t bodies = 0;
  for (std::size_t at = group.source.find("struct Body {"); at != std::string::npos;
       at = group.source.find("struct Body {", at + 1))
    ++bodies;
  CHECK(bodies <= 2);
}
