// Losses. Theano's (in nnet.hpp: categorical_crossentropy, binary_crossentropy) take probabilities; these have the same
// order of arguments, the prediction first and the target second, and follow Keras's formulas: one number for each
// sample, the mean (or sum, if stated) over the last axis. Reduce them with mean or sum. Prediction and target
// broadcast against each other unless stated otherwise; integers are computed in floatX.
#pragma once

#include <croton/nnet.hpp>
#include <croton/ops.hpp>

namespace croton::nnet {

/// mean((p - t)^2).
Variable mean_squared_error(Operand prediction, Operand target);
/// mean(|p - t|).
Variable mean_absolute_error(Operand prediction, Operand target);
/// 100 mean(|p - t| / max(|t|, 1e-7)).
Variable mean_absolute_percentage_error(Operand prediction, Operand target);
/// mean((log(1 + max(p, 1e-7)) - log(1 + max(t, 1e-7)))^2).
Variable mean_squared_logarithmic_error(Operand prediction, Operand target);
/// mean of 0.5 e^2 where |e| <= delta, else delta |e| - 0.5 delta^2, with e = p - t (Huber 1964).
Variable huber(Operand prediction, Operand target, double delta = 1);
/// mean(log(cosh(p - t))), without overflow.
Variable log_cosh(Operand prediction, Operand target);
/// mean(max(1 - t p, 0)) for targets -1 and 1.
Variable hinge(Operand prediction, Operand target);
/// mean(max(1 - t p, 0)^2) for targets -1 and 1.
Variable squared_hinge(Operand prediction, Operand target);
/// max(1 + max((1 - t) p) - sum(t p), 0) for one-hot targets.
Variable categorical_hinge(Operand prediction, Operand target);
/// sum(t log(t / p)), both clipped to 1e-7 ... 1.
Variable kl_divergence(Operand prediction, Operand target);
/// mean(p - t log(p + 1e-7)).
Variable poisson(Operand prediction, Operand target);
/// -sum(p t) / (|p| |t|) along `axis`, with norms of at least 1e-6: -1 for parallel vectors.
Variable cosine_similarity(Operand prediction, Operand target, int axis = -1);

/// -(t log(sigmoid(z)) + (1 - t) log(1 - sigmoid(z))), elementwise, from logits z, without overflow.
Variable sigmoid_binary_crossentropy(Operand logits, Operand target);
/// -log(softmax(z)[target]) for integer targets (one per row), -sum(t log(softmax(z))) for targets of the shape of z,
/// along the last axis.
Variable softmax_crossentropy(Operand logits, Operand target);
/// (1 - p_t)^gamma times the binary cross-entropy of probabilities p, times alpha for targets 1 and 1 - alpha for
/// targets 0 if alpha is given (Lin et al. 2017, arXiv:1708.02002); elementwise. p is clipped to 1e-7 ... 1 - 1e-7,
/// unless it is computed from logits.
Variable binary_focal_crossentropy(Operand p, Operand target, double gamma = 2, std::optional<double> alpha = {},
                                   const CrossentropyOptions& options = {});
/// -sum(alpha (1 - p)^gamma t log(p)) along the last axis, for probabilities (clipped as above) and one-hot targets.
Variable categorical_focal_crossentropy(Operand p, Operand target, double gamma = 2, double alpha = 0.25,
                                        const CrossentropyOptions& options = {});
/// (1 - p_t^q) / q, where p_t is the probability of the target: sum(t p) along the last axis, or p[t] for integer
/// targets (IndexError outside); between the cross-entropy (q towards 0) and 1 - p_t (q = 1). p is clipped to at least
/// 1e-7. ValueError for q outside (0, 1] (Zhang and Sabuncu 2018, arXiv:1805.07836).
Variable categorical_generalized_cross_entropy(Operand p, Operand target, double q = 0.5);
/// Options of the circle loss.
struct CircleOptions {
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;  ///< row i of the references is not compared with row i
  std::optional<Operand> reference_embeddings = {}, reference_labels = {};  ///< the rows to compare with
};
/// The circle loss of embeddings (n, d) of length 1 and integer labels (n): for each row softplus(logsumexp(gamma (m +
/// d_p) (d_p - m)) + logsumexp(gamma max(1 + m - d_n, 0) (1 - m - d_n))), where m is the margin, d_p the cosine
/// distances max(1 - e . r, 0) to the rows r of the same label and d_n those to the others; 0 if there are none of
/// either. As in Keras, from Sun et al. 2020, arXiv:2002.10857.
Variable circle(Operand embeddings, Operand labels, const CircleOptions& options = {});
/// 1 - 2 sum(p t) / (sum(p) + sum(t)) over the axes (by default all: a scalar); 1e-7 is added to numerator and
/// denominator.
Variable dice(Operand prediction, Operand target, const std::optional<std::vector<int>>& axis = {});
/// 1 - sum(p t) / (sum(p t) + alpha sum(p (1 - t)) + beta sum((1 - p) t)) over the axes, by default all (Salehi et al.
/// 2017, arXiv:1706.05721); 1e-7 is added to numerator and denominator.
Variable tversky(Operand prediction, Operand target, double alpha = 0.5, double beta = 0.5,
                 const std::optional<std::vector<int>>& axis = {});

/// softmax(x + b) of each row.
Variable softmax_with_bias(Operand x, Operand b);
/// {-log(softmax(x + b)[y]), softmax(x + b), argmax(x + b)} of each row, as in Theano.
struct CrossentropySoftmaxArgmax {
  Variable crossentropy, softmax, argmax;
};
CrossentropySoftmaxArgmax crossentropy_softmax_argmax_1hot_with_bias(Operand x, Operand b, Operand target);
/// The first two of these results; without b for softmax(x).
std::pair<Variable, Variable> crossentropy_softmax_1hot_with_bias(Operand x, Operand b, Operand target);
std::pair<Variable, Variable> crossentropy_softmax_1hot(Operand x, Operand target);
/// Theano's two-level hierarchical softmax (Morin and Bengio 2005). Outputs are grouped in c classes of k: a softmax of
/// x w1 + b1 gives the probability of the class of output o, floor(o / k), and a softmax of x w2[class] + b2[class]
/// that of its position in the class, o mod k. x is (n, d), w1 (d, c), b1 (c), w2 (c, d, k) and b2 (c, k). Without
/// targets the probabilities of all outputs, or of the first `outputs`, (n, outputs); with integer targets (n) in 0 to
/// c k - 1 only those of the targets, (n), which need n of the matrices in w2.
Variable h_softmax(Operand x, Operand w1, Operand b1, Operand w2, Operand b2, std::optional<Operand> outputs = {},
                   std::optional<Operand> target = {});
/// Connectionist temporal classification (Graves et al. 2006): -log of the probability that a sequence reads as its
/// labels, one number for each sequence, when repeated classes become one and blanks are then left out. `activations`
/// (length, sequences, classes) are converted to probabilities by a softmax (logarithms of probabilities are accepted,
/// too); the integer `labels` (sequences, most labels) of a row end before the first one that is negative or the blank;
/// of sequence i the first input_lengths[i] steps are used. `blank` is a class, counted from the end if negative: 0 in
/// Theano, -1 in Keras' ctc_batch_cost. If labels do not fit into the steps, the cost is inf, with gradient 0. Computed
/// in float64 after the softmax. First derivatives only. IndexError for a label or a length out of range.
Variable ctc(Operand activations, Operand labels, Operand input_lengths, std::int64_t blank = 0);
/// The confusion matrix: element [i, j] counts how often class i (of `actual`) was predicted as j; int64, (n, n) with
/// n = `classes`. Classes are integers in 0 to n - 1; others are ignored.
Variable confusion_matrix(Operand actual, Operand prediction, Operand classes);

}  // namespace croton::nnet
