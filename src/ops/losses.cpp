// Losses, composed of elementwise ops and reductions over the last axis: fusion makes one row kernel of each.
#include <croton/indexing.hpp>
#include <croton/losses.hpp>
#include <croton/nnet.hpp>

#include <fmt/format.h>

#include <numbers>

#include "builder/gradient_context.hpp"
#include "ops/parts.hpp"

namespace croton::nnet {
namespace {

using builder::number;
using ops::in_floats;

// What Keras adds or clips to, so that no logarithm or quotient is infinite.
constexpr double epsilon = 1e-7;

const ReduceOptions last(-1);

/// The mean over the last axis; a scalar is its own.
Variable mean_of(const Variable& x) { return x.rank() == 0 ? x : mean(x, last); }
Variable sum_of(const Variable& x) { return x.rank() == 0 ? x : sum(x, last); }

Variable clipped(const Operand& p, double low, double high) {
  const Variable v = in_floats(p);
  return clip(v, number(low, v), number(high, v));
}
Variable at_least(const Variable& x, double low) { return maximum(x, number(low, x)); }
Variable probability(const Operand& p) { return clipped(p, epsilon, 1 - epsilon); }

}  // namespace

Variable mean_squared_error(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  return mean_of(sqr(in_floats(prediction) - in_floats(target)));
}

Variable mean_absolute_error(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  return mean_of(abs(in_floats(prediction) - in_floats(target)));
}

Variable mean_absolute_percentage_error(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  const Variable t = in_floats(target);
  return 100 * mean_of(abs(in_floats(prediction) - t) / at_least(abs(t), epsilon));
}

Variable mean_squared_logarithmic_error(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  return mean_of(sqr(log1p(at_least(in_floats(prediction), epsilon)) - log1p(at_least(in_floats(target), epsilon))));
}

Variable huber(Operand prediction, Operand target, double delta) {
  const builder::OriginScope origin(prediction.where);
  const Variable error = in_floats(prediction) - in_floats(target), size = abs(error);
  // Of a clipped error, so that the square of a large one, which is not chosen, cannot overflow.
  const Variable edge = number(delta, error), half = number(0.5, error);
  return mean_of(where(size <= edge, half * sqr(clip(error, -edge, edge)), edge * size - half * sqr(edge)));
}

Variable log_cosh(Operand prediction, Operand target) {
  // |e| + log1p(exp(-2 |e|)) - log(2) cancels near 0, where cosh(e) = 1 + 2 sinh(e / 2)^2 does not.
  const builder::OriginScope origin(prediction.where);
  const Variable error = in_floats(prediction) - in_floats(target);
  const Variable near = log1p(2 * sqr(sinh(number(0.5, error) * clip(error, -1, 1))));
  const Variable far = abs(error) + croton::softplus(-2 * abs(error)) - number(std::numbers::ln2, error);
  return mean_of(where(abs(error) <= 1, near, far));
}

Variable hinge(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  return mean_of(maximum(1 - in_floats(target) * in_floats(prediction), 0));
}

Variable squared_hinge(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  return mean_of(sqr(maximum(1 - in_floats(target) * in_floats(prediction), 0)));
}

Variable categorical_hinge(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  const Variable p = in_floats(prediction), t = in_floats(target);
  return maximum(1 + max((1 - t) * p, last) - sum(t * p, last), 0);
}

Variable kl_divergence(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  const Variable t = clipped(target, epsilon, 1), p = clipped(prediction, epsilon, 1);
  return sum_of(t * log(t / p));
}

Variable poisson(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  const Variable p = in_floats(prediction);
  return mean_of(p - in_floats(target) * log(p + number(epsilon, p)));
}

Variable cosine_similarity(Operand prediction, Operand target, int axis) {
  const builder::OriginScope origin(prediction.where);
  const auto unit = [&](const Variable& v) {
    return v * rsqrt(at_least(sum(sqr(v), ReduceOptions(std::vector<int>{axis}, true)), 1e-12));
  };
  return -sum(unit(in_floats(prediction)) * unit(in_floats(target)), ReduceOptions(axis));
}

Variable sigmoid_binary_crossentropy(Operand logits, Operand target) {
  // Both terms are exact for targets 0 and 1, and their slopes have no kink.
  const builder::OriginScope origin(logits.where);
  const Variable z = in_floats(logits), t = in_floats(target);
  return t * croton::softplus(-z) + (1 - t) * croton::softplus(z);
}

Variable softmax_crossentropy(Operand logits, Operand target) {
  const builder::OriginScope origin(logits.where);
  return categorical_crossentropy(softmax(in_floats(logits)), target);
}

Variable binary_focal_crossentropy(Operand probabilities, Operand target, double gamma, std::optional<double> alpha) {
  const builder::OriginScope origin(probabilities.where);
  const Variable p = probability(probabilities), t = in_floats(target);
  const Variable of_target = t * p + (1 - t) * (1 - p);
  const Variable loss = pow(1 - of_target, number(gamma, p)) * -(t * log(p) + (1 - t) * log(1 - p));
  return alpha ? (t * number(*alpha, p) + (1 - t) * number(1 - *alpha, p)) * loss : loss;
}

Variable categorical_focal_crossentropy(Operand probabilities, Operand target, double gamma, double alpha) {
  const builder::OriginScope origin(probabilities.where);
  const Variable p = probability(probabilities);
  return sum_of(number(alpha, p) * pow(1 - p, number(gamma, p)) * -(in_floats(target) * log(p)));
}

Variable dice(Operand prediction, Operand target) {
  const builder::OriginScope origin(prediction.where);
  const Variable p = in_floats(prediction), t = in_floats(target);
  return 1 - (2 * sum(p * t) + number(epsilon, p)) / (sum(p) + sum(t) + number(epsilon, p));
}

Variable tversky(Operand prediction, Operand target, double alpha, double beta) {
  const builder::OriginScope origin(prediction.where);
  const Variable p = in_floats(prediction), t = in_floats(target), both = sum(p * t);
  const Variable tiny = number(epsilon, p), false_positive = sum(p * (1 - t)), false_negative = sum((1 - p) * t);
  return 1 - (both + tiny) / (both + number(alpha, p) * false_positive + number(beta, p) * false_negative + tiny);
}

Variable softmax_with_bias(Operand x, Operand b) {
  const builder::OriginScope origin(x.where);
  return softmax(x + b);
}

CrossentropySoftmaxArgmax crossentropy_softmax_argmax_1hot_with_bias(Operand x, Operand b, Operand target) {
  const builder::OriginScope origin(x.where);
  const Variable logits = x + b, p = softmax(logits);
  return {categorical_crossentropy(p, target), p, argmax(logits, last)};
}

Variable h_softmax(Operand x, Operand w1, Operand b1, Operand w2, Operand b2, std::optional<Operand> outputs,
                   std::optional<Operand> target) {
  const builder::OriginScope origin(x.where);
  const Variable of_class = softmax(dot(x, w1) + b1);
  if (!target) {
    const Variable inside = softmax(tensordot(x, w2, {1}, {1}) + b2);
    const Variable all = flatten(expand_dims(of_class, -1) * inside, 2);
    return outputs ? all.at({slice(), slice({}, *outputs)}) : all;
  }
  const Variable size = w2.variable.shape(2), which = floor_divide(*target, size);
  const Variable logits = squeeze(matmul(expand_dims(x, 1), take(w2, which, 0)), 1) + take(b2, which, 0);
  const auto picked = [](const Variable& p, const Variable& at) {
    return squeeze(take_along_axis(p, expand_dims(at, -1), 1), 1);
  };
  return picked(of_class, which) * picked(softmax(logits), *target % size);
}

Variable confusion_matrix(Operand actual, Operand prediction, Operand classes) {
  // Counts of pairs as a product of one-hot rows.
  const builder::OriginScope origin(actual.where);
  const Variable numbers = arange(classes);
  const auto hot = [&](const Operand& x) { return cast(eq(expand_dims(x, -1), numbers), DType::int64); };
  return dot(transpose(hot(actual)), hot(prediction));
}

}  // namespace croton::nnet
