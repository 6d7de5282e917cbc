#include <croton/nn/optimizers.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "builder/node.hpp"

namespace croton::nn {
namespace {

/// All of it is float64, whatever floatX is.
Variable number(double value) { return builder::scalar_constant(value, DType::float64); }

Variable rate_of(const char* option, double value) {
  if (!(value >= 0))
    throw ValueError(fmt::format("{} is a learning rate, which must be 0 or more, and is {}", option, value));
  return number(value);
}

Variable positive(const char* option, double value) {
  if (!(value > 0)) throw ValueError(fmt::format("{} must be above 0, and is {}", option, value));
  return number(value);
}

/// How often `steps` went by.
Variable periods(const Variable& step, const Variable& steps, bool staircase) {
  const Variable periods = step / steps;
  return staircase ? floor(periods) : periods;
}

}  // namespace

LearningRate ExponentialDecay(double initial, double steps, double rate, bool staircase) {
  return LearningRate::Schedule(
      [initial = rate_of("initial", initial), steps = positive("steps", steps), rate = number(rate),
       staircase](const Variable& step) { return initial * pow(rate, periods(step, steps, staircase)); });
}

LearningRate InverseTimeDecay(double initial, double steps, double rate, bool staircase) {
  return LearningRate::Schedule(
      [initial = rate_of("initial", initial), steps = positive("steps", steps), rate = number(rate),
       staircase](const Variable& step) { return initial / (number(1) + rate * periods(step, steps, staircase)); });
}

LearningRate PolynomialDecay(double initial, double steps, double end, double power) {
  rate_of("initial", initial);
  return LearningRate::Schedule([span = number(initial - end), steps = positive("steps", steps),
                                 end = rate_of("end", end), power = number(power)](const Variable& step) {
    return span * pow(number(1) - minimum(step, steps) / steps, power) + end;
  });
}

LearningRate PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<double>& values) {
  if (values.size() != boundaries.size() + 1)
    throw ValueError(fmt::format("PiecewiseConstantDecay takes one more value than boundaries: {} and {} were given",
                                 values.size(), boundaries.size()));
  if (!std::ranges::is_sorted(boundaries)) throw ValueError("the boundaries of PiecewiseConstantDecay must ascend");
  for (const double value : values) rate_of("a value", value);
  return LearningRate::Schedule([boundaries, values](const Variable& step) {
    Variable rate = number(values.back());
    for (std::size_t i = boundaries.size(); i-- > 0;)
      rate = where(step <= number(static_cast<double>(boundaries[i])), number(values[i]), rate);
    return rate;
  });
}

LearningRate CosineDecay(double initial, double steps, double alpha, double warmup_steps) {
  return LearningRate::Schedule([initial = rate_of("initial", initial), steps = positive("steps", steps), alpha,
                                 warmup_steps](const Variable& step) {
    const Variable warmup = number(warmup_steps), done = minimum(step - warmup, steps) / steps;
    const Variable wave = number(0.5) * (number(1) + cos(number(std::numbers::pi) * done));
    const Variable decayed = initial * (number(1 - alpha) * wave + number(alpha));
    return warmup_steps > 0 ? where(step < warmup, initial * step / warmup, decayed) : decayed;
  });
}

}  // namespace croton::nn
