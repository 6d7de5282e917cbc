// Functions for neural networks; formulas and conventions are Theano's.
#pragma once

#include <croton/ops.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace croton::nnet {

/// exp(x) / sum(exp(x)) along `axis`, computed as exp(x - max): finite for all finite x.
Variable softmax(Operand x, int axis = -1);
/// The same, the sum being over several axes.
Variable softmax(Operand x, const std::vector<int>& axes);
/// x - log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable log_softmax(Operand x, int axis = -1);
Variable log_softmax(Operand x, const std::vector<int>& axes);
/// log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable logsumexp(Operand x, int axis = -1, bool keepdims = false);
/// 0.5 (x + |x|); its gradient at exactly 0 is 0.5. `alpha`: slope below 0. TypeError for complex numbers, here and in
/// all that is made of maxima, logarithms of probabilities and mean squares.
Variable relu(Operand x, double alpha = 0);
struct ReluOptions {
  double negative_slope = 0;
  std::optional<double> max_value = {};
  double threshold = 0;
};
/// Keras's: min(x, max_value) where x > threshold, else negative_slope (x - threshold). The gradient at the threshold
/// is negative_slope, at max_value 0.
Variable relu(Operand x, const ReluOptions& options);
Variable sigmoid(Operand x);
Variable softplus(Operand x);
/// What Keras's cross-entropies can be told.
struct CrossentropyOptions {
  bool from_logits = false;    ///< p is what a softmax (binary: a sigmoid) would be taken of; nothing overflows
  double label_smoothing = 0;  ///< s in [0, 1] (ValueError): targets become (1 - s) t + s / classes (binary: s / 2)
  std::optional<std::int64_t> ignore_class = {};  ///< integer targets of this class, any number, give 0 and no gradient
};
/// Per row of `p` (probabilities along the last axis): -log(p[target]) for integer targets (one index a row; IndexError
/// outside), -sum(target * log(p)) for targets of the shape of p. On a softmax it is computed from the logits, without
/// overflow. TypeError for an ignore_class where targets are no class numbers.
Variable categorical_crossentropy(Operand p, Operand target, const CrossentropyOptions& options = {});
/// -(t log(p) + (1 - t) log(1 - p)), elementwise; on a sigmoid it is computed from the logits.
Variable binary_crossentropy(Operand p, Operand target, const CrossentropyOptions& options = {});
/// x / sqrt(mean(x^2) ...) with mean and biased variance over the last axis: (x - mean) / sqrt(var + eps).
Variable layer_norm(Operand x, double eps = 1e-5);

}  // namespace croton::nnet
