#include <croton/nn/losses.hpp>
#include <croton/nnet_losses.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/config.hpp"
#include "builder/gradient_context.hpp"
#include "expr/op.hpp"
#include "nn/by_name.hpp"
#include "nn/pairs.hpp"
#include "nn/replica.hpp"

namespace croton::nn {
namespace {

using builder::describe;
using builder::number;

const ReduceOptions last(-1);

template <class Error = TypeError>
[[noreturn]] void fail(std::string_view what, const Variable& target, const Variable& prediction,
                       std::string_view reason) {
  throw Error(fmt::format("{}: target {}, prediction {}: {}", what, describe(target), describe(prediction), reason));
}

void check_real(std::string_view what, const Variable& target, const Variable& prediction) {
  if (is_complex(target.dtype()) || is_complex(prediction.dtype()))
    fail(what, target, prediction, "complex numbers are not accepted");
}

/// Whether the last axis has, or may have, size 1.
bool ends_in_one(const Variable& x) { return x.type().shape.back() == 1 || x.type().shape.back() == unknown_size; }

/// x with stated sizes of its axes from `first` on; sizes that are unknown are checked in calls.
Variable with_sizes(std::string_view what, const Variable& x, std::int64_t first, const std::vector<Variable>& sizes,
                    std::string_view why) {
  std::vector<Variable> inputs{x};
  inputs.insert(inputs.end(), sizes.begin(), sizes.end());
  expr::Ints axes(sizes.size());
  std::iota(axes.begin(), axes.end(), first);
  return builder::apply(expr::Core::specify_shape, inputs, {{"axes", axes}, {"why", fmt::format("{}: {}", what, why)}},
                        x.where());
}
Variable with_one_last(std::string_view what, const Variable& x) {
  const Variable one = builder::scalar_constant(1, DType::int64);
  return with_sizes(what, x, x.rank() - 1, {one}, "an axis that another lacks has size 1");
}
Variable with_shape_of(std::string_view what, const Variable& target, const Variable& prediction) {
  constexpr std::string_view why = "a target has the sizes of the prediction";
  for (std::size_t axis = 0; axis < target.type().rank(); ++axis) {
    const std::int64_t a = target.type().shape[axis], b = prediction.type().shape[axis];
    if (a != b && a != unknown_size && b != unknown_size) fail<ShapeError>(what, target, prediction, why);
  }
  return with_sizes(what, target, 0, prediction.shape(), why);
}

/// Class numbers in floats as integers. A call with another number raises an error that names it.
Variable whole_numbers(std::string_view what, const Variable& x) {
  const Variable is_whole = eq(x, floor(x)) & (abs(x) < number(0x1p62, x));
  // 0, or the bits of the number that is not a class, for the message.
  const Variable fault = where(is_whole, builder::scalar_constant(0, DType::uint64),
                               builder::apply(expr::Core::bits_of_double, {cast(x, DType::float64)}, {}, x.where()));
  const std::string message =
      fmt::format("{}: a target of {{real}} is not a class; classes are whole numbers from 0 on", what);
  const Variable none = builder::apply(expr::Core::checked_index, {fault, builder::scalar_constant(1, DType::int64)},
                                       {{"message", message}}, x.where());
  return cast(x, DType::int64) + cast(none, DType::int64);
}

}  // namespace

Variable in_wide_floats(const Variable& x) {
  const DType dtype = is_discrete(x.dtype()) ? base::config().float_x() : x.dtype();
  return cast(x, compute_dtype(dtype));
}

Pair paired(std::string_view what, const Variable& target, const Variable& prediction) {
  check_real(what, target, prediction);
  Variable t = target, p = in_wide_floats(prediction);
  const bool fit = t.rank() > 0 && p.rank() > 0 &&
                   (t.rank() == p.rank() || (t.rank() + 1 == p.rank() && ends_in_one(p)) ||
                    (p.rank() + 1 == t.rank() && ends_in_one(t)));
  if (!fit)
    fail(what, target, prediction, "both have the samples first, and one shape except for a last axis of size 1");
  if (t.rank() < p.rank()) {
    p = with_one_last(what, p);
    t = expand_dims(t, -1);
  } else if (p.rank() < t.rank()) {
    t = with_one_last(what, t);
    p = expand_dims(p, -1);
  } else if (t.rank() == 1) {
    t = expand_dims(t, -1);
    p = expand_dims(p, -1);
  }
  return {with_shape_of(what, cast(t, p.dtype()), p), p};
}

Pair paired_rows(std::string_view what, const Variable& target, const Variable& prediction) {
  check_real(what, target, prediction);
  if (prediction.rank() < 2 || target.rank() != prediction.rank())
    fail(what, target, prediction,
         target.rank() + 1 == prediction.rank()
             ? "a target is a row with a number for each class; class numbers need the sparse version"
             : "both have the samples first and the classes last");
  const Variable p = in_wide_floats(prediction);
  return {with_shape_of(what, cast(target, p.dtype()), p), p};
}

Pair classes_and_rows(std::string_view what, const Variable& target, const Variable& prediction) {
  check_real(what, target, prediction);
  Variable classes = is_integer(target.dtype()) ? target
                     : is_float(target.dtype()) ? whole_numbers(what, target)
                                                : cast(target, DType::int64);
  const bool fit = prediction.rank() >= 2 && (target.rank() + 1 == prediction.rank() ||
                                              (target.rank() == prediction.rank() && ends_in_one(target)));
  if (!fit)
    fail(what, target, prediction,
         "predictions are rows with a number for each class, and a target is the number of one class: it has no axis "
         "of classes, or one of size 1");
  if (target.rank() == prediction.rank()) classes = squeeze(with_one_last(what, classes), -1);
  return {classes, in_wide_floats(prediction)};
}

Variable along_values(std::string_view what, const Variable& weight, const Variable& values) {
  const int missing = values.rank() - weight.rank();
  if (values.rank() == 0) return weight;  // one number for all samples, which broadcasts against the weights
  if (missing == -1 && ends_in_one(weight)) return squeeze(with_one_last(what, weight), -1);
  if (missing < 0)
    throw TypeError(fmt::format("{}: {} cannot weight {}: a number for each sample, or each step, is expected", what,
                                describe(weight), describe(values)));
  return missing > 0 ? shape_padright(weight, missing) : weight;
}

namespace {

Reduction reduction_of(std::string_view text) {
  if (text == "sum_over_batch_size") return Reduction::sum_over_batch_size;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  throw ValueError(fmt::format("there is no reduction \"{}\"; there are: sum_over_batch_size, sum, none", text));
}

using LossFunction = std::function<Variable(const Variable& prediction, const Variable& target)>;

/// The samples of a loss whose targets have the shape of predictions.
Loss::Samples of_numbers(std::string_view what, LossFunction of) {
  return [what, of = std::move(of)](const Variable& target, const Variable& prediction) {
    const builder::OriginScope origin(prediction.where());
    const Pair pair = paired(what, target, prediction);
    return of(pair.prediction, pair.target);
  };
}
/// The samples of a loss of rows with a number for each class.
Loss::Samples of_rows(std::string_view what, LossFunction of) {
  return [what, of = std::move(of)](const Variable& target, const Variable& prediction) {
    const builder::OriginScope origin(prediction.where());
    const Pair pair = paired_rows(what, target, prediction);
    return of(pair.prediction, pair.target);
  };
}

/// As in Keras, targets 0 and 1 become -1 and 1 if there are no others.
Variable signs(const Variable& target) { return where(all(eq(target, 0) | eq(target, 1)), 2 * target - 1, target); }

/// The input of the softmax or sigmoid that computes the prediction, if there is one.
std::optional<Variable> logits_of(const Variable& prediction, expr::Core activation) {
  const builder::Node& node = *prediction.node();
  if (node.op == nullptr || !node.op->is(activation)) return {};
  if (activation == expr::Core::softmax && node.attrs.integer("axis") + 1 != prediction.rank()) return {};
  return node.inputs[0];
}

constexpr double epsilon = 1e-7;

Variable clipped(const Variable& p) { return clip(p, number(epsilon, p), number(1 - epsilon, p)); }

/// Probabilities of classes: p divided by its sum, and clipped to exclude 0 and 1.
Variable probabilities(const Variable& p) {
  const Variable total = sum(p, ReduceOptions(std::vector<int>{-1}, true));
  return clipped(p / maximum(total, number(epsilon, p)));
}

/// A cross-entropy: `fit` makes targets and predictions fit each other, `normalize` turns numbers into probabilities.
Loss::Samples crossentropy(std::string_view what, Pair (*fit)(std::string_view, const Variable&, const Variable&),
                           expr::Core activation, Variable (*normalize)(const Variable&),
                           Variable (*of)(Operand, Operand, const nnet::CrossentropyOptions&),
                           const ProbabilityLossOptions& options) {
  return [what, fit, activation, normalize, of, from_logits = options.from_logits, smoothing = options.label_smoothing](
             const Variable& target, const Variable& prediction) {
    const builder::OriginScope origin(prediction.where());
    const std::optional<Variable> logits = from_logits ? prediction : logits_of(prediction, activation);
    const auto [t, p] = fit(what, target, logits.value_or(prediction));
    return of(logits ? p : normalize(p), t, {.from_logits = logits.has_value(), .label_smoothing = smoothing});
  };
}

Variable mean_binary_crossentropy(Operand p, Operand target, const nnet::CrossentropyOptions& options) {
  return mean(nnet::binary_crossentropy(p, target, options), last);
}

LossOptions plain(const ProbabilityLossOptions& options) { return {options.reduction, options.name}; }

struct Entry {
  std::string_view name;
  Loss (*make)();
};
const Entry entries[] = {
    {"mse", [] { return Loss(MeanSquaredError()); }},
    {"mean_squared_error", [] { return Loss(MeanSquaredError()); }},
    {"mae", [] { return Loss(MeanAbsoluteError()); }},
    {"mean_absolute_error", [] { return Loss(MeanAbsoluteError()); }},
    {"mape", [] { return Loss(of_numbers("mean_absolute_percentage_error", nnet::mean_absolute_percentage_error)); }},
    {"mean_absolute_percentage_error",
     [] { return Loss(of_numbers("mean_absolute_percentage_error", nnet::mean_absolute_percentage_error)); }},
    {"msle", [] { return Loss(of_numbers("mean_squared_logarithmic_error", nnet::mean_squared_logarithmic_error)); }},
    {"mean_squared_logarithmic_error",
     [] { return Loss(of_numbers("mean_squared_logarithmic_error", nnet::mean_squared_logarithmic_error)); }},
    {"bce", [] { return Loss(BinaryCrossentropy()); }},
    {"binary_crossentropy", [] { return Loss(BinaryCrossentropy()); }},
    {"categorical_crossentropy", [] { return Loss(CategoricalCrossentropy()); }},
    {"sparse_categorical_crossentropy", [] { return Loss(SparseCategoricalCrossentropy()); }},
    {"hinge", [] { return Loss(Hinge()); }},
    {"squared_hinge",
     [] {
       return Loss(of_numbers("squared_hinge",
                              [](const Variable& p, const Variable& t) { return nnet::squared_hinge(p, signs(t)); }));
     }},
    {"categorical_hinge", [] { return Loss(of_rows("categorical_hinge", nnet::categorical_hinge)); }},
    {"huber", [] { return Loss(Huber()); }},
    {"log_cosh", [] { return Loss(of_numbers("log_cosh", nnet::log_cosh)); }},
    {"kld", [] { return Loss(KLDivergence()); }},
    {"kl_divergence", [] { return Loss(KLDivergence()); }},
    {"poisson", [] { return Loss(Poisson()); }},
    {"cosine_similarity", [] { return Loss(CosineSimilarity()); }},
};

Loss loss_named(std::string_view name) {
  const Entry* const found =
      std::ranges::find_if(entries, [&](const Entry& entry) { return same_spelled(entry.name, name); });
  if (found == std::end(entries))
    throw ValueError(fmt::format("there is no loss \"{}\"; there are: {}", name, fmt::join(loss_names(), ", ")));
  return found->make();
}

}  // namespace

std::vector<std::string_view> loss_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

Loss::Loss(std::string_view name) : Loss(loss_named(name)) { name_ = name; }
Loss::Loss(Samples samples, const LossOptions& options) : Loss(std::move(samples), options, "loss") {}
Loss::Loss(Samples samples, const LossOptions& options, const char* name, Targets targets)
    : samples_(std::move(samples)),
      name_(options.name.empty() ? name : options.name),
      reduction_(reduction_of(options.reduction)),
      targets_(targets) {}

Variable Loss::operator()(const Variable& target, const Variable& prediction) const {
  return (*this)(target, prediction, {});
}

Variable Loss::operator()(const Variable& target, const Variable& prediction, const Variable& sample_weight,
                          const Variable& mask) const {
  if (const Replica* replica = Replica::current();
      replica != nullptr && replica->is_users && reduction_ == Reduction::sum_over_batch_size)
    throw ValueError(
        fmt::format("{}: in the step of a strategy this is a mean over one shard, and the results of shards are added "
                    "up; use reduction=\"none\" and compute_average_loss, or reduction=\"sum\"",
                    name_));
  const builder::OriginScope origin(prediction.where());
  Variable values = in_wide_floats(samples_(target, prediction));
  if (sample_weight.defined()) values = values * cast(along_values(name_, sample_weight, values), values.dtype());
  Variable counted;
  if (mask.defined()) {
    // Not a product: values that do not count may be nan.
    const Variable counts = cast(along_values(name_, mask, values), DType::bool_);
    counted = sum(where(counts, ones_like(values), zeros_like(values)));
    values = where(counts, values, zeros_like(values));
  }
  if (reduction_ == Reduction::none) return values;
  Variable total = sum(values);
  if (reduction_ == Reduction::sum) return total;
  if (!counted.defined()) counted = cast(values.size(), total.dtype());
  return total / maximum(counted, number(1, total));
}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(const ProbabilityLossOptions& options)
    : Loss(crossentropy("sparse_categorical_crossentropy", classes_and_rows, expr::Core::softmax, probabilities,
                        nnet::categorical_crossentropy, options),
           plain(options), "sparse_categorical_crossentropy", Targets::classes) {}
CategoricalCrossentropy::CategoricalCrossentropy(const ProbabilityLossOptions& options)
    : Loss(crossentropy("categorical_crossentropy", paired_rows, expr::Core::softmax, probabilities,
                        nnet::categorical_crossentropy, options),
           plain(options), "categorical_crossentropy") {}
BinaryCrossentropy::BinaryCrossentropy(const ProbabilityLossOptions& options)
    : Loss(crossentropy("binary_crossentropy", paired, expr::Core::sigmoid, clipped, mean_binary_crossentropy, options),
           plain(options), "binary_crossentropy", Targets::yes_or_no) {}
MeanSquaredError::MeanSquaredError(const LossOptions& options)
    : Loss(of_numbers("mean_squared_error", nnet::mean_squared_error), options, "mean_squared_error") {}
MeanAbsoluteError::MeanAbsoluteError(const LossOptions& options)
    : Loss(of_numbers("mean_absolute_error", nnet::mean_absolute_error), options, "mean_absolute_error") {}
Huber::Huber(double delta, const LossOptions& options)
    : Loss(of_numbers("huber", [delta](const Variable& p, const Variable& t) { return nnet::huber(p, t, delta); }),
           options, "huber") {}
KLDivergence::KLDivergence(const LossOptions& options)
    : Loss(of_numbers("kl_divergence", nnet::kl_divergence), options, "kl_divergence") {}
Poisson::Poisson(const LossOptions& options) : Loss(of_numbers("poisson", nnet::poisson), options, "poisson") {}
Hinge::Hinge(const LossOptions& options)
    : Loss(of_numbers("hinge", [](const Variable& p, const Variable& t) { return nnet::hinge(p, signs(t)); }), options,
           "hinge") {}
CosineSimilarity::CosineSimilarity(int axis, const LossOptions& options)
    : Loss(of_numbers("cosine_similarity",
                      [axis](const Variable& p, const Variable& t) { return nnet::cosine_similarity(p, t, axis); }),
           options, "cosine_similarity") {}

Variable compute_average_loss(const Variable& per_sample, const AverageLossOptions& options) {
  const builder::OriginScope origin(per_sample.where());
  if (options.global_batch_size < 1)
    throw ValueError(fmt::format("compute_average_loss: {}: a global_batch_size of {}, where 1 or more is expected",
                                 describe(per_sample), options.global_batch_size));
  const Variable total = sum(in_wide_floats(per_sample));
  return total / number(static_cast<double>(options.global_batch_size), total);
}

}  // namespace croton::nn
