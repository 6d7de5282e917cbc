#include <croton/nn/optimizers.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "builder/gradient_context.hpp"

namespace croton::nn {
namespace {

/// Schedules compute in float64, for every floatX.
Variable number(double value) { return builder::scalar_constant(value, DType::float64); }

void check_rate(const char* option, double value) {
  if (!(value >= 0))
    throw ValueError(fmt::format("{} is a learning rate, which must be 0 or more, and is {}", option, value));
}

void check_positive(const char* option, double value) {
  if (!(value > 0)) throw ValueError(fmt::format("{} must be above 0, and is {}", option, value));
}

/// The number of periods of `steps` steps.
Variable periods(const Variable& step, double steps, bool staircase) {
  const Variable periods = step / number(steps);
  return staircase ? floor(periods) : periods;
}

/// A schedule whose nodes get the line of the step count, which is that of the optimizer.
template <class Rate>
LearningRate schedule(Rate rate) {
  return LearningRate::Schedule([rate](const Variable& step) {
    const builder::OriginScope origin(step.where());
    return rate(step);
  });
}

}  // namespace

LearningRate ExponentialDecay(double initial, double steps, double rate, bool staircase) {
  check_rate("initial", initial);
  check_positive("steps", steps);
  return schedule(
      [=](const Variable& step) { return number(initial) * pow(number(rate), periods(step, steps, staircase)); });
}

LearningRate InverseTimeDecay(double initial, double steps, double rate, bool staircase) {
  check_rate("initial", initial);
  check_positive("steps", steps);
  return schedule([=](const Variable& step) {
    return number(initial) / (number(1) + number(rate) * periods(step, steps, staircase));
  });
}

LearningRate PolynomialDecay(double initial, double steps, double end, double power) {
  check_rate("initial", initial);
  check_positive("steps", steps);
  check_rate("end", end);
  return schedule([=](const Variable& step) {
    const Variable all = number(steps);
    return number(initial - end) * pow(number(1) - minimum(step, all) / all, number(power)) + number(end);
  });
}

LearningRate PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<double>& values) {
  if (values.size() != boundaries.size() + 1)
    throw ValueError(fmt::format("PiecewiseConstantDecay takes one more value than boundaries: {} and {} were given",
                                 values.size(), boundaries.size()));
  if (!std::ranges::is_sorted(boundaries)) throw ValueError("the boundaries of PiecewiseConstantDecay must ascend");
  for (const double value : values) check_rate("a value", value);
  return schedule([boundaries, values](const Variable& step) {
    Variable rate = number(values.back());
    for (std::size_t i = boundaries.size(); i-- > 0;)
      rate = where(step <= number(static_cast<double>(boundaries[i])), number(values[i]), rate);
    return rate;
  });
}

LearningRate CosineDecay(double initial, double steps, double alpha, double warmup_steps) {
  check_rate("initial", initial);
  check_positive("steps", steps);
  return schedule([=](const Variable& step) {
    const Variable first = number(initial), all = number(steps), warmup = number(warmup_steps);
    const Variable done = minimum(step - warmup, all) / all;
    const Variable wave = number(0.5) * (number(1) + cos(number(std::numbers::pi) * done));
    const Variable decayed = first * (number(1 - alpha) * wave + number(alpha));
    return warmup_steps > 0 ? where(step < warmup, first * step / warmup, decayed) : decayed;
  });
}

}  // namespace croton::nn
