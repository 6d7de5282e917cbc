// Losses, composed of elementwise ops and reductions over the last axis, which fuse into one row kernel.
#include <croton/indexing.hpp>
#include <croton/nnet.hpp>
#include <croton/nnet_losses.hpp>

#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "builder/gradient_context.hpp"
#include "ops/elementwise/composed.hpp"
#include "ops/nnet/crossentropy.hpp"

namespace croton::nnet {
namespace {

using builder::number;
using ops::in_floats, ops::in_one_rounding;

// The number that Keras adds or clips to, so that no logarithm or quotient is infinite.
constexpr double epsilon = 1e-7;

const ReduceOptions last(-1);

/// The mean over the last axis; a scalar is unchanged.
Variable mean_of(const Variable& x) { return x.rank() == 0 ? x : mean(x, last); }
Variable sum_of(const Variable& x) { return x.rank() == 0 ? x : sum(x, last); }

Variable clipped(const Operand& p, double low, double high) {
  const Variable v = in_floats(p);
  return clip(v, number(low, v), number(high, v));
}
Variable at_least(const Variable& x, double low) { return maximum(x, number(low, x)); }
Variable probability(const Operand& p) { return clipped(p, epsilon, 1 - epsilon); }

void demand_real(std::string_view op, const Operand& prediction, const Operand& target) {
  ops::demand_real(prediction, op);
  ops::demand_real(target, op);
}

}  // namespace

Variable mean_squared_error(Operand prediction, Operand target) {
  demand_real("mean_squared_error", prediction, target);
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) { return mean_of(sqr(p - t)); });
}

Variable mean_absolute_error(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) { return mean_of(abs(p - t)); });
}

Variable mean_absolute_percentage_error(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) {
    return 100 * mean_of(abs(p - t) / at_least(abs(t), epsilon));
  });
}

Variable mean_squared_logarithmic_error(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) {
    return mean_of(sqr(log1p(at_least(p, epsilon)) - log1p(at_least(t, epsilon))));
  });
}

Variable huber(Operand prediction, Operand target, double delta) {
  return in_one_rounding(prediction, target, [&](const Variable& p, const Variable& t) {
    const Variable error = p - t, size = abs(error);
    // The error is clipped, so that the square of a large one, which is not chosen, cannot overflow.
    const Variable edge = number(delta, error), half = number(0.5, error);
    return mean_of(where(size <= edge, half * sqr(clip(error, -edge, edge)), edge * size - half * sqr(edge)));
  });
}

Variable log_cosh(Operand prediction, Operand target) {
  // |e| + log1p(exp(-2 |e|)) - log(2) cancels near 0, where cosh(e) = 1 + 2 sinh(e / 2)^2 does not.
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) {
    const Variable error = p - t;
    const Variable near = log1p(2 * sqr(sinh(number(0.5, error) * clip(error, -1, 1))));
    const Variable far = abs(error) + croton::softplus(-2 * abs(error)) - number(std::numbers::ln2, error);
    return mean_of(where(abs(error) <= 1, near, far));
  });
}

Variable hinge(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target,
                         [](const Variable& p, const Variable& t) { return mean_of(maximum(1 - t * p, 0)); });
}

Variable squared_hinge(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target,
                         [](const Variable& p, const Variable& t) { return mean_of(sqr(maximum(1 - t * p, 0))); });
}

Variable categorical_hinge(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) {
    return maximum(1 + max((1 - t) * p, last) - sum(t * p, last), 0);
  });
}

Variable kl_divergence(Operand prediction, Operand target) {
  return in_one_rounding(prediction, target, [](const Variable& given, const Variable& of) {
    const Variable t = clipped(of, epsilon, 1), p = clipped(given, epsilon, 1);
    return sum_of(t * log(t / p));
  });
}

Variable poisson(Operand prediction, Operand target) {
  demand_real("poisson", prediction, target);
  return in_one_rounding(prediction, target, [](const Variable& p, const Variable& t) {
    return mean_of(p - t * log(p + number(epsilon, p)));
  });
}

Variable cosine_similarity(Operand prediction, Operand target, int axis) {
  return in_one_rounding(prediction, target, [&](const Variable& p, const Variable& t) {
    const auto unit = [&](const Variable& v) {
      return v * rsqrt(at_least(sum(sqr(v), ReduceOptions(std::vector<int>{axis}, true)), 1e-12));
    };
    return -sum(unit(p) * unit(t), ReduceOptions(axis));
  });
}

Variable sigmoid_binary_crossentropy(Operand logits, Operand target) {
  const builder::OriginScope origin(logits.where);
  return binary_crossentropy(logits, target, {.from_logits = true});
}

Variable softmax_crossentropy(Operand logits, Operand target) {
  const builder::OriginScope origin(logits.where);
  return categorical_crossentropy(softmax(in_floats(logits)), target);
}

Variable binary_focal_crossentropy(Operand probabilities, Operand target, double gamma, std::optional<double> alpha,
                                   const CrossentropyOptions& options) {
  ops::check_crossentropy("binary_focal_crossentropy", probabilities, target, options, false);
  return in_one_rounding(probabilities, target, [&](const Variable& given, const Variable& of) {
    const bool logits = options.from_logits;
    const Variable p = logits ? given : probability(given), t = ops::smoothed(of, options.label_smoothing, 2);
    // For logits z, 1 - sigmoid(z) is sigmoid(-z), and the logarithms are softplus.
    const Variable others =
        logits ? t * croton::sigmoid(-p) + (1 - t) * croton::sigmoid(p) : 1 - (t * p + (1 - t) * (1 - p));
    const Variable entropy =
        logits ? t * croton::softplus(-p) + (1 - t) * croton::softplus(p) : -(t * log(p) + (1 - t) * log(1 - p));
    const Variable loss = pow(others, number(gamma, p)) * entropy;
    return alpha ? (t * number(*alpha, p) + (1 - t) * number(1 - *alpha, p)) * loss : loss;
  });
}

Variable categorical_focal_crossentropy(Operand probabilities, Operand target, double gamma, double alpha,
                                        const CrossentropyOptions& options) {
  ops::check_crossentropy("categorical_focal_crossentropy", probabilities, target, options, false);
  return in_one_rounding(probabilities, target, [&](const Variable& given, const Variable& of) {
    const bool logits = options.from_logits;
    const Variable p = logits ? log_softmax(given) : probability(given);
    const Variable t = ops::smoothed(of, options.label_smoothing, p.shape(-1));
    const Variable others = logits ? -expm1(p) : 1 - p, log_p = logits ? p : log(p);
    return sum_of(number(alpha, p) * pow(others, number(gamma, p)) * -(t * log_p));
  });
}

Variable categorical_generalized_cross_entropy(Operand probabilities, Operand target, double q) {
  const builder::OriginScope origin(probabilities.where);
  demand_real("categorical_generalized_cross_entropy", probabilities, target);
  if (!(q > 0 && q <= 1))
    throw ValueError(fmt::format(
        "categorical_generalized_cross_entropy ({}): q = {}, where numbers above 0 and up to 1 are accepted",
        builder::describe(probabilities.where), q));
  const Variable p = in_floats(probabilities);
  ops::demand_targets("categorical_generalized_cross_entropy", probabilities, target);
  // Computed with logarithms: the difference of 1 and a power near 1 would cancel.
  const Variable log_p = ops::are_classes(probabilities, target)
                             ? -categorical_crossentropy(at_least(p, epsilon), target)
                             : log(at_least(sum(in_floats(target) * p, last), epsilon));
  return -expm1(number(q, p) * log_p) / number(q, p);
}

namespace {

/// logsumexp of the terms that the mask selects, per row; 0 for rows without terms; `has_terms` is whether a row has
/// some.
Variable masked_logsumexp(const Variable& terms, const Variable& mask, const Variable& has_terms) {
  const Variable lowest = number(-std::numeric_limits<double>::infinity(), terms);
  return logsumexp(where(mask, terms, where(expand_dims(has_terms, 1), lowest, zeros_like(terms))), 1);
}

}  // namespace

Variable circle(Operand embeddings, Operand labels, const CircleOptions& options) {
  const builder::OriginScope origin(embeddings.where);
  demand_real("circle", embeddings, labels);
  const Operand with = options.reference_embeddings.value_or(embeddings);
  const Operand of = options.reference_labels.value_or(labels);
  demand_real("circle", with, of);
  if (embeddings.variable.rank() != 2 || with.variable.rank() != 2 || labels.variable.rank() != 1 ||
      of.variable.rank() != 1)
    throw TypeError(fmt::format("circle ({}): {}, {}: embeddings are a matrix, labels a vector",
                                builder::describe(embeddings.where), builder::describe(embeddings.variable),
                                builder::describe(labels.variable)));
  const Variable e = in_floats(embeddings), distance = maximum(1 - dot(e, transpose(in_floats(with))), 0);
  const Variable same = eq(dimshuffle(labels, {0, broadcast_axis}), dimshuffle(of, {broadcast_axis, 0}));
  Variable near = same;
  if (options.remove_diagonal) {
    const Variable rows = arange(distance.shape(0)), columns = arange(distance.shape(1));
    near = same & neq(dimshuffle(rows, {0, broadcast_axis}), dimshuffle(columns, {broadcast_axis, 0}));
  }
  const Variable far = ~same, some_near = any(near, 1), some_far = any(far, 1);
  const double m = options.margin;
  const Variable margin = number(m, e), gamma = number(options.gamma, e);
  const Variable pull = gamma * (margin + distance) * (distance - margin);
  const Variable push = gamma * maximum(number(1 + m, e) - distance, 0) * (number(1 - m, e) - distance);
  const Variable loss =
      croton::softplus(masked_logsumexp(pull, near, some_near) + masked_logsumexp(push, far, some_far));
  return where(some_near & some_far, loss, zeros_like(loss));
}

Variable dice(Operand prediction, Operand target, const std::optional<std::vector<int>>& axis) {
  demand_real("dice", prediction, target);
  const ReduceOptions over(axis, false);
  return in_one_rounding(prediction, target, [&](const Variable& p, const Variable& t) {
    return 1 - (2 * sum(p * t, over) + number(epsilon, p)) / (sum(p, over) + sum(t, over) + number(epsilon, p));
  });
}

Variable tversky(Operand prediction, Operand target, double alpha, double beta,
                 const std::optional<std::vector<int>>& axis) {
  demand_real("tversky", prediction, target);
  const ReduceOptions over(axis, false);
  return in_one_rounding(prediction, target, [&](const Variable& p, const Variable& t) {
    const Variable both = sum(p * t, over), tiny = number(epsilon, p), false_positive = sum(p * (1 - t), over),
                   false_negative = sum((1 - p) * t, over);
    return 1 - (both + tiny) / (both + number(alpha, p) * false_positive + number(beta, p) * false_negative + tiny);
  });
}

Variable softmax_with_bias(Operand x, Operand b) {
  const builder::OriginScope origin(x.where);
  return softmax(x + b);
}

CrossentropySoftmaxArgmax crossentropy_softmax_argmax_1hot_with_bias(Operand x, Operand b, Operand target) {
  const builder::OriginScope origin(x.where);
  const Variable logits = x + b;
  const auto [cost, p] = crossentropy_softmax_1hot(logits, target);
  return {cost, p, argmax(logits, last)};
}

std::pair<Variable, Variable> crossentropy_softmax_1hot_with_bias(Operand x, Operand b, Operand target) {
  const builder::OriginScope origin(x.where);
  return crossentropy_softmax_1hot(x + b, target);
}
std::pair<Variable, Variable> crossentropy_softmax_1hot(Operand x, Operand target) {
  const builder::OriginScope origin(x.where);
  const Variable p = softmax(x);
  return {categorical_crossentropy(p, target), p};
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
  // Counts pairs by a product of one-hot rows.
  const builder::OriginScope origin(actual.where);
  const Variable numbers = arange(classes);
  const auto hot = [&](const Operand& x) { return cast(eq(expand_dims(x, -1), numbers), DType::int64); };
  return dot(transpose(hot(actual)), hot(prediction));
}

}  // namespace croton::nnet
