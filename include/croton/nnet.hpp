// Functions for neural networks; formulas and conventions are Theano's.
#pragma once

#include <croton/ops.hpp>

namespace croton::nnet {

/// exp(x) / sum(exp(x)) along `axis`, computed as exp(x - max): finite for all finite x.
Variable softmax(Operand x, int axis = -1);
/// x - log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable log_softmax(Operand x, int axis = -1);
/// log(sum(exp(x))) along `axis`, computed with the maximum subtracted.
Variable logsumexp(Operand x, int axis = -1, bool keepdims = false);
/// 0.5 (x + |x|); its gradient at exactly 0 is 0.5. `alpha`: slope below 0.
Variable relu(Operand x, double alpha = 0);
Variable sigmoid(Operand x);
Variable softplus(Operand x);
/// Per row of `p` (probabilities along the last axis): -log(p[target]) for integer targets (one index a row; IndexError
/// outside), -sum(target * log(p)) for targets of the shape of p. On a softmax it is computed from the logits, without
/// overflow.
Variable categorical_crossentropy(Operand p, Operand target);
/// -(t log(p) + (1 - t) log(1 - p)), elementwise; on a sigmoid it is computed from the logits.
Variable binary_crossentropy(Operand p, Operand target);
/// x / sqrt(mean(x^2) ...) with mean and biased variance over the last axis: (x - mean) / sqrt(var + eps).
Variable layer_norm(Operand x, double eps = 1e-5);

}  // namespace croton::nnet
