// The functions of <croton/nnet.hpp>, <croton/activations.hpp> and <croton/nnet_losses.hpp>.
#include <croton/activations.hpp>
#include <croton/nnet.hpp>
#include <croton/nnet_losses.hpp>

#include "core/bindings.hpp"
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "ops/rows.hpp"

namespace croton::python {
namespace {

/// An activation with one parameter and its default.
struct ParameterRow {
  const char* name;
  Variable (*f)(Operand, double);
  const char* parameter;
  double value;
  const char* doc;
};

constexpr UnaryRow activation_rows[] = {
    {"sigmoid", &nnet::sigmoid, "1 / (1 + exp(-x))."},
    {"softplus", &nnet::softplus, "log(1 + exp(x))."},
    {"linear", &nnet::linear, "x."},
    {"relu6", &nnet::relu6, "min(max(x, 0), 6)."},
    {"selu", &nnet::selu, "The scaled elu of self-normalising networks."},
    {"silu", &nnet::silu, "x sigmoid(x)."},
    {"swish", &nnet::swish, "x sigmoid(x)."},
    {"mish", &nnet::mish, "x tanh(softplus(x))."},
    {"softsign", &nnet::softsign, "x / (1 + |x|)."},
    {"ultra_fast_sigmoid", &nnet::ultra_fast_sigmoid, "A piecewise approximation of the sigmoid, within 0.025 of it."},
    {"hard_silu", &nnet::hard_silu, "x relu6(x + 3) / 6."},
    {"hard_swish", &nnet::hard_swish, "x relu6(x + 3) / 6."},
    {"hard_tanh", &nnet::hard_tanh, "clip(x, -1, 1)."},
    {"log_sigmoid", &nnet::log_sigmoid, "log(sigmoid(x)), without overflow."},
    {"exponential", &nnet::exponential, "exp(x)."},
    {"tanh_shrink", &nnet::tanh_shrink, "x - tanh(x)."},
    {"sparse_plus", &nnet::sparse_plus, "0 below -1, x above 1, (x + 1)^2 / 4 in between."},
    {"sparse_sigmoid", &nnet::sparse_sigmoid, "clip((x + 1) / 2, 0, 1)."},
};

constexpr ParameterRow parameter_rows[] = {
    {"leaky_relu", &nnet::leaky_relu, "negative_slope", 0.2,
     "max(x, 0) + negative_slope min(x, 0); its gradient at 0 is negative_slope."},
    {"elu", &nnet::elu, "alpha", 1, "x where x > 0, alpha (exp(x) - 1) below."},
    {"celu", &nnet::celu, "alpha", 1, "x where x > 0, alpha (exp(x / alpha) - 1) below."},
    {"squareplus", &nnet::squareplus, "b", 4, "0.5 (x + sqrt(x^2 + b))."},
    {"soft_shrink", &nnet::soft_shrink, "threshold", 0.5, "sgn(x) max(|x| - threshold, 0)."},
    {"hard_shrink", &nnet::hard_shrink, "threshold", 0.5, "x where |x| > threshold, else 0."},
};

constexpr BinaryRow loss_rows[] = {
    {"mean_squared_error", &nnet::mean_squared_error, "mean((p - t)^2) over the last axis, as are all means below."},
    {"mean_absolute_error", &nnet::mean_absolute_error, "mean(|p - t|)."},
    {"mean_absolute_percentage_error", &nnet::mean_absolute_percentage_error, "100 mean(|p - t| / max(|t|, 1e-7))."},
    {"mean_squared_logarithmic_error", &nnet::mean_squared_logarithmic_error, "mean((log(1 + p) - log(1 + t))^2)."},
    {"log_cosh", &nnet::log_cosh, "mean(log(cosh(p - t))), without overflow."},
    {"hinge", &nnet::hinge, "mean(max(1 - t p, 0)) of targets -1 and 1."},
    {"squared_hinge", &nnet::squared_hinge, "mean(max(1 - t p, 0)^2) of targets -1 and 1."},
    {"categorical_hinge", &nnet::categorical_hinge, "max(1 + max((1 - t) p) - sum(t p), 0) of one-hot targets."},
    {"kl_divergence", &nnet::kl_divergence, "sum(t log(t / p)), both clipped to 1e-7 ... 1."},
    {"poisson", &nnet::poisson, "mean(p - t log(p + 1e-7))."},
    {"sigmoid_binary_crossentropy", &nnet::sigmoid_binary_crossentropy,
     "The binary cross-entropy of sigmoid(p), elementwise, without overflow."},
    {"softmax_crossentropy", &nnet::softmax_crossentropy,
     "The cross-entropy of softmax(p) along the last axis, of integer or one-hot targets."},
};

/// `alpha` is Theano's argument, the others are Keras's.
Variable to_relu(nb::handle x, std::optional<double> alpha, std::optional<double> max_value,
                 std::optional<double> negative_slope, double threshold) {
  if (!max_value && !negative_slope && threshold == 0) return nnet::relu(to_operand(x), alpha.value_or(0));
  if (alpha && negative_slope) throw TypeError("relu: alpha and negative_slope are the same; give one of them");
  return nnet::relu(to_operand(x), nnet::ReluOptions{negative_slope.value_or(alpha.value_or(0)), max_value, threshold});
}

/// Axes, or absent for None.
std::optional<std::vector<int>> to_optional_axes(nb::handle axis) {
  return axis.is_none() ? std::nullopt : std::optional(to_axes(axis));
}

void bind_activations(nb::module_& m) {
  bind_rows(m, activation_rows);
  m.def(
      "hard_sigmoid",
      [](nb::handle x, double slope, double shift) { return nnet::hard_sigmoid(to_operand(x), slope, shift); }, "x"_a,
      "slope"_a = 0.2, "shift"_a = 0.5, "clip(slope x + shift, 0, 1); Keras 3 has the slope 1/6.");
  m.def("relu", &to_relu, "x"_a, "alpha"_a = nb::none(), "max_value"_a = nb::none(), "negative_slope"_a = nb::none(),
        "threshold"_a = 0.0,
        "0.5 (x + |x|); its gradient at exactly 0 is 0.5. alpha: the slope below 0. With Keras's arguments: min(x, "
        "max_value) where x > threshold, else negative_slope (x - threshold); the gradient at the threshold is "
        "negative_slope, at max_value 0.");
  m.def(
      "sparsemax", [](nb::handle x, int axis) { return nnet::sparsemax(to_operand(x), axis); }, "x"_a, "axis"_a = -1,
      "The probabilities nearest to x: max(x - tau, 0) with tau such that they sum to 1 along the axis; small ones are "
      "exactly 0.");
  for (const ParameterRow& row : parameter_rows) {
    m.def(
        row.name, [f = row.f](nb::handle x, double value) { return f(to_operand(x), value); }, "x"_a,
        nb::arg(row.parameter) = row.value, row.doc);
  }
  m.def(
      "prelu", [](nb::handle x, nb::handle slope) { return nnet::prelu(to_operand(x), to_operand(slope)); }, "x"_a,
      "slope"_a, "max(x, 0) + slope min(x, 0) with a learnt slope.");
  m.def(
      "gelu", [](nb::handle x, bool approximate) { return nnet::gelu(to_operand(x), approximate); }, "x"_a,
      "approximate"_a = false, "x Phi(x), where Phi is the normal distribution function; approximate: by tanh.");
  m.def(
      "threshold",
      [](nb::handle x, double threshold, double value) { return nnet::threshold(to_operand(x), threshold, value); },
      "x"_a, "threshold"_a, "value"_a = 0.0, "x where x > threshold, else value.");
  m.def(
      "softmin", [](nb::handle x, int axis) { return nnet::softmin(to_operand(x), axis); }, "x"_a, "axis"_a = -1,
      "softmax(-x) along the axis.");
  m.def(
      "glu", [](nb::handle x, int axis) { return nnet::glu(to_operand(x), axis); }, "x"_a, "axis"_a = -1,
      "a sigmoid(b), where a and b are the halves of x along the axis.");
}

void bind_losses(nb::module_& m) {
  bind_rows(m, loss_rows, "prediction", "target");
  m.def(
      "huber",
      [](nb::handle p, nb::handle t, double delta) { return nnet::huber(to_operand(p), to_operand(t), delta); },
      "prediction"_a, "target"_a, "delta"_a = 1.0,
      "The mean of 0.5 e^2 where |e| <= delta, else delta |e| - 0.5 delta^2, with e = p - t.");
  m.def(
      "cosine_similarity",
      [](nb::handle p, nb::handle t, int axis) { return nnet::cosine_similarity(to_operand(p), to_operand(t), axis); },
      "prediction"_a, "target"_a, "axis"_a = -1, "-sum(p t) / (|p| |t|) along the axis.");
  m.def(
      "binary_focal_crossentropy",
      [](nb::handle p, nb::handle t, double gamma, std::optional<double> alpha, bool from_logits,
         double label_smoothing) {
        return nnet::binary_focal_crossentropy(to_operand(p), to_operand(t), gamma, alpha,
                                               {from_logits, label_smoothing});
      },
      "p"_a, "target"_a, "gamma"_a = 2.0, "alpha"_a = nb::none(), "from_logits"_a = false, "label_smoothing"_a = 0.0,
      "The binary cross-entropy of probabilities times (1 - p_t)^gamma, elementwise; options as for "
      "binary_crossentropy.");
  m.def(
      "categorical_focal_crossentropy",
      [](nb::handle p, nb::handle t, double gamma, double alpha, bool from_logits, double label_smoothing) {
        return nnet::categorical_focal_crossentropy(to_operand(p), to_operand(t), gamma, alpha,
                                                    {from_logits, label_smoothing});
      },
      "p"_a, "target"_a, "gamma"_a = 2.0, "alpha"_a = 0.25, "from_logits"_a = false, "label_smoothing"_a = 0.0,
      "-sum(alpha (1 - p)^gamma t log(p)) along the last axis; options as for categorical_crossentropy.");
  m.def(
      "categorical_generalized_cross_entropy",
      [](nb::handle p, nb::handle t, double q) {
        return nnet::categorical_generalized_cross_entropy(to_operand(p), to_operand(t), q);
      },
      "p"_a, "target"_a, "q"_a = 0.5,
      "(1 - p_t^q) / q along the last axis, where p_t is the probability of the target, at least 1e-7; targets are "
      "integers or one-hot. ValueError for q outside of (0, 1].");
  m.def(
      "circle",
      [](nb::handle embeddings, nb::handle labels, double gamma, double margin, bool remove_diagonal,
         nb::handle ref_embeddings, nb::handle ref_labels) {
        return nnet::circle(
            to_operand(embeddings), to_operand(labels),
            {gamma, margin, remove_diagonal, to_optional_operand(ref_embeddings), to_optional_operand(ref_labels)});
      },
      "embeddings"_a, "labels"_a, "gamma"_a = 80.0, "margin"_a = 0.4, "remove_diagonal"_a = true,
      "ref_embeddings"_a = nb::none(), "ref_labels"_a = nb::none(),
      "The circle loss of rows of length 1 with integer labels: softplus of the logsumexp of gamma (m + d) (d - m) "
      "over the cosine distances d to rows of the same label, and that of gamma max(1 + m - d, 0) (1 - m - d) over the "
      "others; 0 if either set is empty. Rows are compared with each other, or with the references.");
  m.def(
      "dice",
      [](nb::handle p, nb::handle t, nb::handle axis) {
        return nnet::dice(to_operand(p), to_operand(t), to_optional_axes(axis));
      },
      "prediction"_a, "target"_a, "axis"_a = nb::none(),
      "1 - 2 sum(p t) / (sum(p) + sum(t)) over the axes, all if None.");
  m.def(
      "tversky",
      [](nb::handle p, nb::handle t, double alpha, double beta, nb::handle axis) {
        return nnet::tversky(to_operand(p), to_operand(t), alpha, beta, to_optional_axes(axis));
      },
      "prediction"_a, "target"_a, "alpha"_a = 0.5, "beta"_a = 0.5, "axis"_a = nb::none(),
      "1 - sum(p t) / (sum(p t) + alpha sum(p (1 - t)) + beta sum((1 - p) t)) over the axes, all if None.");
  m.def(
      "softmax_with_bias",
      [](nb::handle x, nb::handle b) { return nnet::softmax_with_bias(to_operand(x), to_operand(b)); }, "x"_a, "b"_a,
      "softmax(x + b) of each row.");
  m.def(
      "crossentropy_softmax_argmax_1hot_with_bias",
      [](nb::handle x, nb::handle b, nb::handle target) {
        const auto all =
            nnet::crossentropy_softmax_argmax_1hot_with_bias(to_operand(x), to_operand(b), to_operand(target));
        return std::make_tuple(all.crossentropy, all.softmax, all.argmax);
      },
      "x"_a, "b"_a, "target"_a, "(-log(softmax(x + b)[target]), softmax(x + b), argmax(x + b)) of each row.");
  m.def(
      "crossentropy_softmax_1hot_with_bias",
      [](nb::handle x, nb::handle b, nb::handle target) {
        return nnet::crossentropy_softmax_1hot_with_bias(to_operand(x), to_operand(b), to_operand(target));
      },
      "x"_a, "b"_a, "target"_a, "(-log(softmax(x + b)[target]), softmax(x + b)) of each row.");
  m.def(
      "crossentropy_softmax_1hot",
      [](nb::handle x, nb::handle target) {
        return nnet::crossentropy_softmax_1hot(to_operand(x), to_operand(target));
      },
      "x"_a, "target"_a, "(-log(softmax(x)[target]), softmax(x)) of each row.");
  m.def(
      "h_softmax",
      [](nb::handle x, nb::handle w1, nb::handle b1, nb::handle w2, nb::handle b2, nb::handle outputs,
         nb::handle target) {
        return nnet::h_softmax(to_operand(x), to_operand(w1), to_operand(b1), to_operand(w2), to_operand(b2),
                               to_optional_operand(outputs), to_optional_operand(target));
      },
      "x"_a, "w1"_a, "b1"_a, "w2"_a, "b2"_a, "outputs"_a = nb::none(), "target"_a = nb::none(),
      "The probabilities of a two-level softmax: output o is in class o // k of c classes of k outputs. x (n, d), w1 "
      "(d, c), b1 (c), w2 (c, d, k), b2 (c, k). The result has all outputs (n, outputs), or with targets only theirs "
      "(n).");
  m.def(
      "ctc",
      [](nb::handle activations, nb::handle labels, nb::handle input_lengths, std::int64_t blank) {
        return nnet::ctc(to_operand(activations), to_operand(labels), to_operand(input_lengths), blank);
      },
      "activations"_a, "labels"_a, "input_lengths"_a, "blank"_a = 0,
      "The loss of connectionist temporal classification: -log of the probability of a sequence's labels, one number "
      "for each sequence. activations (length, sequences, classes) are those before the softmax; the labels of a row "
      "end before the first one that is negative or the blank; inf, with a gradient of 0, if they do not fit into the "
      "steps.");
  m.def(
      "confusion_matrix",
      [](nb::handle actual, nb::handle prediction, nb::handle classes) {
        return nnet::confusion_matrix(to_operand(actual), to_operand(prediction), to_operand(classes));
      },
      "actual"_a, "prediction"_a, "classes"_a,
      "The confusion matrix: element [i, j] is how often class i was predicted as j.");
}

void bind_softmax_and_others(nb::module_& m) {
  m.def(
      "softmax", [](nb::handle x, nb::handle axis) { return nnet::softmax(to_operand(x), to_axes(axis)); }, "x"_a,
      "axis"_a = -1,
      "exp(x) / sum(exp(x)) along the axis, or over several, computed as exp(x - max): finite for all finite x.");
  m.def(
      "log_softmax", [](nb::handle x, nb::handle axis) { return nnet::log_softmax(to_operand(x), to_axes(axis)); },
      "x"_a, "axis"_a = -1,
      "x - log(sum(exp(x))) along the axis, or over several, computed with the maximum subtracted.");
  m.def(
      "logsumexp", [](nb::handle x, int axis, bool keepdims) { return nnet::logsumexp(to_operand(x), axis, keepdims); },
      "x"_a, "axis"_a = -1, "keepdims"_a = false,
      "log(sum(exp(x))) along the axis, computed with the maximum subtracted.");
  m.def(
      "categorical_crossentropy",
      [](nb::handle p, nb::handle target, bool from_logits, double label_smoothing,
         std::optional<std::int64_t> ignore_class) {
        return nnet::categorical_crossentropy(to_operand(p), to_operand(target),
                                              {from_logits, label_smoothing, ignore_class});
      },
      "p"_a, "target"_a, "from_logits"_a = false, "label_smoothing"_a = 0.0, "ignore_class"_a = nb::none(),
      "The cross-entropy of each row of p (probabilities along the last axis): -log(p[target]) for integer targets, "
      "-sum(target * log(p)) for targets of the shape of p. For a softmax, and for logits with from_logits, it is "
      "computed without overflow. label_smoothing: s moves the fraction s of each target to all classes equally. "
      "Integer targets equal to ignore_class give 0 and no gradient.");
  m.def(
      "binary_crossentropy",
      [](nb::handle p, nb::handle target, bool from_logits, double label_smoothing) {
        return nnet::binary_crossentropy(to_operand(p), to_operand(target), {from_logits, label_smoothing});
      },
      "p"_a, "target"_a, "from_logits"_a = false, "label_smoothing"_a = 0.0,
      "-(t log(p) + (1 - t) log(1 - p)), elementwise; for a sigmoid, and with from_logits, it is computed from the "
      "logits. label_smoothing: s replaces targets by (1 - s) t + s / 2.");
  m.def(
      "layer_norm", [](nb::handle x, double eps) { return nnet::layer_norm(to_operand(x), eps); }, "x"_a,
      "eps"_a = 1e-5, "(x - mean) / sqrt(var + eps) with mean and biased variance over the last axis.");
}

}  // namespace

void bind_nnet(nb::module_& m) {
  bind_softmax_and_others(m);
  bind_activations(m);
  bind_losses(m);
}

}  // namespace croton::python
