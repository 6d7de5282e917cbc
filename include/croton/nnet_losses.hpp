// Losses. Theano's (in nnet.hpp: categorical_crossentropy, binary_crossentropy) take probabilities; these take the
// prediction first and the target second as well, and follow Keras's formulas: one number for each sample, the mean (or
// sum, where said) over the last axis. Reduce them with mean or sum. Prediction and target broadcast against each other
// but where said otherwise; integers are computed in floatX.
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
/// mean of 0.5 e^2 where |e| <= delta, delta |e| - 0.5 delta^2 beyond, e = p - t (Huber 1964).
Variable huber(Operand prediction, Operand target, double delta = 1);
/// mean(log(cosh(p - t))), without overflow.
Variable log_cosh(Operand prediction, Operand target);
/// mean(max(1 - t p, 0)) of targets -1 and 1.
Variable hinge(Operand prediction, Operand target);
/// mean(max(1 - t p, 0)^2) of targets -1 and 1.
Variable squared_hinge(Operand prediction, Operand target);
/// max(1 + max((1 - t) p) - sum(t p), 0), of one-hot targets.
Variable categorical_hinge(Operand prediction, Operand target);
/// sum(t log(t / p)), both clipped to 1e-7 ... 1.
Variable kl_divergence(Operand prediction, Operand target);
/// mean(p - t log(p + 1e-7)).
Variable poisson(Operand prediction, Operand target);
/// -sum(p t) / (|p| |t|) along `axis`, the norms being at least 1e-6: -1 where they point the same way.
Variable cosine_similarity(Operand prediction, Operand target, int axis = -1);

/// -(t log(sigmoid(z)) + (1 - t) log(1 - sigmoid(z))), elementwise, from logits z, without overflow.
Variable sigmoid_binary_crossentropy(Operand logits, Operand target);
/// -log(softmax(z)[target]) for integer targets (one a row), -sum(t log(softmax(z))) for targets of the shape of z,
/// along the last axis.
Variable softmax_crossentropy(Operand logits, Operand target);
/// (1 - p_t)^gamma times the binary cross-entropy of probabilities p, times alpha for targets of 1 and 1 - alpha for
/// those of 0 where alpha is given (Lin et al. 2017, arXiv:1708.02002); elementwise. p is clipped to 1e-7 ... 1 - 1e-7,
/// but not where it is made of logits.
Variable binary_focal_crossentropy(Operand p, Operand target, double gamma = 2, std::optional<double> alpha = {},
                                   const CrossentropyOptions& options = {});
/// -sum(alpha (1 - p)^gamma t log(p)) along the last axis, of probabilities (clipped as above) and one-hot targets.
Variable categorical_focal_crossentropy(Operand p, Operand target, double gamma = 2, double alpha = 0.25,
                                        const CrossentropyOptions& options = {});
/// (1 - p_t^q) / q, p_t being the probability of the target: sum(t p) along the last axis, or p[t] for integer targets
/// (IndexError outside); between the cross-entropy (q towards 0) and 1 - p_t (q = 1). p is at least 1e-7. ValueError
/// for q outside of (0, 1] (Zhang and Sabuncu 2018, arXiv:1805.07836).
Variable categorical_generalized_cross_entropy(Operand p, Operand target, double q = 0.5);
/// What the circle loss can be told.
struct CircleOptions {
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;  ///< row i of the references is no near one of row i
  std::optional<Operand> reference_embeddings = {}, reference_labels = {};  ///< what rows are compared with
};
/// Of embeddings (n, d) of length 1 and integer labels (n), for each row softplus(logsumexp(gamma (m + d_p) (d_p - m))
/// + logsumexp(gamma max(1 + m - d_n, 0) (1 - m - d_n))), m being the margin, d_p the cosine distances max(1 - e . r,
/// 0) to the rows r of the same label and d_n those to the others; 0 where there are none of either. As Keras's, from
/// Sun et al. 2020, arXiv:2002.10857.
Variable circle(Operand embeddings, Operand labels, const CircleOptions& options = {});
/// 1 - 2 sum(p t) / (sum(p) + sum(t)) over the axes (all: a scalar); 1e-7 is added above and below.
Variable dice(Operand prediction, Operand target, const std::optional<std::vector<int>>& axis = {});
/// 1 - sum(p t) / (sum(p t) + alpha sum(p (1 - t)) + beta sum((1 - p) t)) over the axes, all if none are named (Salehi
/// et al. 2017, arXiv:1706.05721); 1e-7 is added above and below.
Variable tversky(Operand prediction, Operand target, double alpha = 0.5, double beta = 0.5,
                 const std::optional<std::vector<int>>& axis = {});

/// softmax(x + b) of each row.
Variable softmax_with_bias(Operand x, Operand b);
/// Theano's: {-log(softmax(x + b)[y]), softmax(x + b), argmax(x + b)} of each row.
struct CrossentropySoftmaxArgmax {
  Variable crossentropy, softmax, argmax;
};
CrossentropySoftmaxArgmax crossentropy_softmax_argmax_1hot_with_bias(Operand x, Operand b, Operand target);
/// The first two of these; without b, softmax(x).
std::pair<Variable, Variable> crossentropy_softmax_1hot_with_bias(Operand x, Operand b, Operand target);
std::pair<Variable, Variable> crossentropy_softmax_1hot(Operand x, Operand target);
/// Theano's two-level hierarchical softmax (Morin and Bengio 2005). Outputs stand in c classes of k: a softmax of
/// x w1 + b1 tells the class of output o, floor(o / k), and one of x w2[class] + b2[class] its place there, o mod k.
/// x is (n, d), w1 (d, c), b1 (c), w2 (c, d, k) and b2 (c, k). Without targets the probabilities of all outputs, or of
/// the first `outputs`, (n, outputs); with integer targets (n) in 0 to c k - 1 those of the targets alone, (n), which
/// need n of the matrices in w2.
Variable h_softmax(Operand x, Operand w1, Operand b1, Operand w2, Operand b2, std::optional<Operand> outputs = {},
                   std::optional<Operand> target = {});
/// Connectionist temporal classification (Graves et al. 2006): -log of the probability that a sequence reads as its
/// labels, one number for each sequence, when repeated classes become one and blanks are then left out. `activations`
/// (length, sequences, classes) become probabilities by a softmax here (logarithms of probabilities are as well taken);
/// the integer `labels` (sequences, most labels) of a row end in front of the first one that is negative or the blank;
/// of sequence i the first input_lengths[i] steps are read. `blank` is a class, counted from the end if negative: 0 in
/// Theano, -1 in Keras' ctc_batch_cost. Where labels do not fit into the steps the cost is inf, with a gradient of 0.
/// Computed in float64 behind the softmax. First derivatives only. IndexError for a label or a length out of range.
Variable ctc(Operand activations, Operand labels, Operand input_lengths, std::int64_t blank = 0);
/// [i, j]: how often class i (of `actual`) was predicted as j; int64, (n, n) with n = `classes`. Integers in 0 to n -
/// 1; others count nowhere.
Variable confusion_matrix(Operand actual, Operand prediction, Operand classes);

}  // namespace croton::nnet
