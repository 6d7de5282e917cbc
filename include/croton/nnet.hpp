// Functions for neural networks; formulas and conventions are Theano's.
#pragma once

#include <croton/ops.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace croton::nnet {

/// exp(x) / sum(exp(x)) along `axis`, computed as exp(x - max): finite for all finite x.
Variable softmax(Operand x, int axis = -1);
/// softmax with the sum over several axes.
Variable softmax(Operand x, const std::vector<int>& axes);
/// x - log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable log_softmax(Operand x, int axis = -1);
Variable log_softmax(Operand x, const std::vector<int>& axes);
/// log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable logsumexp(Operand x, int axis = -1, bool keepdims = false);
/// 0.5 (x + |x|); its gradient at exactly 0 is 0.5. `alpha`: slope below 0. TypeError for complex numbers, as in all
/// functions of maxima, logarithms of probabilities and mean squares.
Variable relu(Operand x, double alpha = 0);
struct ReluOptions {
  double negative_slope = 0;
  std::optional<double> max_value = {};
  double threshold = 0;
};
/// Keras's relu: min(x, max_value) where x > threshold, else negative_slope (x - threshold). The gradient at the
/// threshold is negative_slope, at max_value 0.
Variable relu(Operand x, const ReluOptions& options);
Variable sigmoid(Operand x);
Variable softplus(Operand x);
/// Options of Keras's cross-entropies.
struct CrossentropyOptions {
  bool from_logits = false;    ///< p are logits, the operand of a softmax (binary: of a sigmoid); no overflow
  double label_smoothing = 0;  ///< s in [0, 1] (ValueError): targets become (1 - s) t + s / classes (binary: s / 2)
  std::optional<std::int64_t> ignore_class = {};  ///< integer targets of this class, any number, give 0 and no gradient
};
/// For each row of `p` (probabilities along the last axis): -log(p[target]) for integer targets (one index per row;
/// IndexError outside), -sum(target * log(p)) for targets of the shape of p. If p is a softmax, it is computed from the
/// logits, without overflow. TypeError for an ignore_class if targets are not class numbers.
Variable categorical_crossentropy(Operand p, Operand target, const CrossentropyOptions& options = {});
/// -(t log(p) + (1 - t) log(1 - p)), elementwise; if p is a sigmoid, it is computed from the logits.
Variable binary_crossentropy(Operand p, Operand target, const CrossentropyOptions& options = {});
/// Layer normalisation, (x - mean) / sqrt(var + eps), with mean and biased variance over the last axis.
Variable layer_norm(Operand x, double eps = 1e-5);

}  // namespace croton::nnet
