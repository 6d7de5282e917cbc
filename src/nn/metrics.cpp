#include <croton/function.hpp>
#include <croton/nn/metrics.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "builder/gradient_context.hpp"
#include "nn/accuracy.hpp"
#include "nn/by_name.hpp"
#include "nn/pairs.hpp"

namespace croton::nn {
namespace {

using builder::number;

const ReduceOptions last(-1);

Variable in_doubles(const Variable& x) { return cast(x, DType::float64); }
/// The weight where the condition holds, else 0.
Variable weight_where(const Variable& condition, const Variable& weight) {
  return where(condition, weight, number(0, weight));
}

/// counts[0] / counts[1], or 0 without samples: the result of metrics with two counts.
double ratio(std::span<const double> counts) { return counts[1] == 0 ? 0 : counts[0] / counts[1]; }

/// The counts {sum(w v), sum(w)} of a weighted mean.
Metric::Counts mean_counts(std::string name, Loss::Samples samples) {
  return [name = std::move(name), samples = std::move(samples)](const Variable& target, const Variable& prediction,
                                                                const Variable& weight) {
    const builder::OriginScope origin(prediction.where());
    Variable values = in_doubles(samples(target, prediction));
    std::vector<int> inside;  // axes of the values that share a weight
    for (int axis = weight.rank(); axis < values.rank(); ++axis) inside.push_back(axis);
    if (!inside.empty()) values = mean(values, inside);
    const Variable w = in_doubles(along_values(name, weight, values));
    return stack({sum(values * w), sum(w + zeros_like(values))});
  };
}

// ---- whether predictions are right, as bool ----

/// Whether the class of each row is among the k largest.
Variable among_largest(const Pair& rows, std::int64_t k) {
  const auto& [classes, p] = rows;
  const Variable chosen = eq(arange(p.shape(-1)), expand_dims(classes, -1));
  const Variable score = sum(where(chosen, p, zeros_like(p)), ReduceOptions(std::vector<int>{-1}, true));
  return (sum(p > score, last) < Operand(k)) & any(chosen, last) & ~isnan(max(p, last));
}
/// Whether the class of each row is the first of the largest.
Variable is_largest(const Pair& rows) {
  const auto [top, at] = max_and_argmax(rows.prediction, last);
  return eq(at, rows.target) & ~isnan(top);
}
Pair classes_of_rows(std::string_view what, const Variable& target, const Variable& prediction) {
  const Pair rows = paired_rows(what, target, prediction);
  return {argmax(rows.target, last), rows.prediction};
}

Loss::Samples binary_matches(double threshold) {
  return [threshold](const Variable& target, const Variable& prediction) {
    const auto [t, p] = paired("binary_accuracy", target, prediction);
    const Variable at = number(threshold, p);
    return (eq(t, 1) & (p > at)) | (eq(t, 0) & (p <= at));
  };
}
Variable sparse_matches(const Variable& target, const Variable& prediction) {
  return is_largest(classes_and_rows("sparse_categorical_accuracy", target, prediction));
}
Variable categorical_matches(const Variable& target, const Variable& prediction) {
  return is_largest(classes_of_rows("categorical_accuracy", target, prediction));
}
Loss::Samples top_matches(std::string_view what, std::int64_t k,
                          Pair (*fit)(std::string_view, const Variable&, const Variable&)) {
  if (k < 1) throw ValueError(fmt::format("{}: k is {}, where 1 or more is expected", what, k));
  return [what, k, fit](const Variable& target, const Variable& prediction) {
    return among_largest(fit(what, target, prediction), k);
  };
}

/// The cosine similarity: 1 for the same direction, where the loss is -1.
Variable cosines(const Variable& target, const Variable& prediction) {
  return -CosineSimilarity().samples(target, prediction);
}

Variable squared_errors(const Variable& target, const Variable& prediction) {
  const auto [t, p] = paired("root_mean_squared_error", target, prediction);
  return sqr(p - t);
}

// ---- true and false positives ----

/// {weight of true positives, weight of all positive targets (recall) or of all positive predictions (precision)}.
Metric::Counts ratio_counts(std::string_view what, double threshold, bool of_targets) {
  return [=](const Variable& target, const Variable& prediction, const Variable& weight) {
    const builder::OriginScope origin(prediction.where());
    const auto [t, p] = paired(what, target, prediction);
    const Variable positive = neq(t, 0), predicted = p > number(threshold, p),
                   w = in_doubles(along_values(what, weight, p));
    return stack({sum(weight_where(positive & predicted, w)), sum(weight_where(of_targets ? positive : predicted, w))});
  };
}

/// The weights of true positives at all thresholds, then the weights of false positives.
Metric::Counts curve_counts(int thresholds) {
  return [thresholds](const Variable& target, const Variable& prediction, const Variable& weight) {
    const builder::OriginScope origin(prediction.where());
    const auto [t, p] = paired("auc", target, prediction);
    const Variable w = in_doubles(along_values("auc", weight, p)) + zeros_like(in_doubles(p));
    // p is above threshold i / (n - 1) if the last threshold below it, counted from 0, is i or more. The first and the
    // last threshold are outside of [0, 1]: every p is above the first, none is above the last.
    const Variable below = ceil(p * number(thresholds - 1, p)) - number(1, p);
    const Variable reached = clip(below, number(0, p), number(thresholds - 2, p));
    const Variable above = expand_dims(flatten(reached), 0) >= expand_dims(cast(arange(thresholds), p.dtype()), 1);
    const auto at_each = [&](const Variable& which) {
      return sum(weight_where(above, expand_dims(flatten(weight_where(which, w)), 0)), 1);
    };
    return concatenate({at_each(neq(t, 0)), at_each(eq(t, 0))});
  };
}
double area(std::span<const double> counts) {
  const std::size_t n = counts.size() / 2;
  const auto fraction = [&](std::size_t first, std::size_t i) {
    return counts[first] == 0 ? 0 : counts[first + i] / counts[first];
  };
  double total = 0;
  for (std::size_t i = 0; i + 1 < n; ++i)
    total += (fraction(n, i) - fraction(n, i + 1)) * (fraction(0, i) + fraction(0, i + 1)) / 2;
  return total;
}
int checked_thresholds(int thresholds) {
  if (thresholds < 2) throw ValueError(fmt::format("auc: {} thresholds, where 2 or more are expected", thresholds));
  return thresholds;
}

struct Entry {
  std::string_view name;
  Metric (*make)();
};
const Entry entries[] = {
    {"binary_accuracy", [] { return Metric(BinaryAccuracy()); }},
    {"categorical_accuracy", [] { return Metric(CategoricalAccuracy()); }},
    {"sparse_categorical_accuracy", [] { return Metric(SparseCategoricalAccuracy()); }},
    {"top_k_categorical_accuracy", [] { return Metric(TopKCategoricalAccuracy()); }},
    {"sparse_top_k_categorical_accuracy", [] { return Metric(SparseTopKCategoricalAccuracy()); }},
    {"precision", [] { return Metric(Precision()); }},
    {"recall", [] { return Metric(Recall()); }},
    {"auc", [] { return Metric(AUC()); }},
    {"cosine_similarity", [] { return Metric("cosine_similarity", cosines, Better::larger); }},
    {"root_mean_squared_error", [] { return Metric(RootMeanSquaredError()); }},
    {"rmse", [] { return Metric(RootMeanSquaredError("rmse")); }},
};

Metric metric_named(std::string_view name) {
  // resolved_accuracy chooses the accuracy later.
  if (same_spelled(name, "accuracy") || same_spelled(name, "acc"))
    return Metric(std::string(name), 2, nullptr, ratio, Better::larger);
  const Entry* const found =
      std::ranges::find_if(entries, [&](const Entry& entry) { return same_spelled(entry.name, name); });
  if (found != std::end(entries)) return found->make();
  std::vector<std::string_view> names = loss_names();
  if (std::ranges::any_of(names, [&](std::string_view known) { return same_spelled(known, name); })) {
    const Loss loss(name);
    return Metric(
        loss.name(), [loss](const Variable& t, const Variable& p) { return loss.samples(t, p); }, Better::smaller);
  }
  std::vector<std::string_view> all = {"accuracy"};
  for (const Entry& entry : entries) all.push_back(entry.name);
  all.insert(all.end(), names.begin(), names.end());
  throw ValueError(fmt::format("there is no metric \"{}\"; there are: {}", name, fmt::join(all, ", ")));
}

}  // namespace

Metric::Metric(std::string_view name) : Metric(metric_named(name)) { name_ = name; }
Metric::Metric(std::string name, std::int64_t states, Counts counts, Result result, Better better)
    : name_(std::move(name)),
      states_(states),
      counts_(std::move(counts)),
      result_(std::move(result)),
      better_(better) {}
Metric::Metric(std::string name, Loss::Samples samples, Better better)
    : Metric(name, 2, mean_counts(name, std::move(samples)), ratio, better) {}

SparseCategoricalAccuracy::SparseCategoricalAccuracy(const std::string& name)
    : Metric(name, sparse_matches, Better::larger) {}
CategoricalAccuracy::CategoricalAccuracy(const std::string& name) : Metric(name, categorical_matches, Better::larger) {}
BinaryAccuracy::BinaryAccuracy(double threshold, const std::string& name)
    : Metric(name, binary_matches(threshold), Better::larger) {}
TopKCategoricalAccuracy::TopKCategoricalAccuracy(std::int64_t k, const std::string& name)
    : Metric(name, top_matches("top_k_categorical_accuracy", k, classes_of_rows), Better::larger) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(std::int64_t k, const std::string& name)
    : Metric(name, top_matches("sparse_top_k_categorical_accuracy", k, classes_and_rows), Better::larger) {}
Precision::Precision(double threshold, const std::string& name)
    : Metric(name, 2, ratio_counts("precision", threshold, false), ratio, Better::larger) {}
Recall::Recall(double threshold, const std::string& name)
    : Metric(name, 2, ratio_counts("recall", threshold, true), ratio, Better::larger) {}
AUC::AUC(int thresholds, const std::string& name)
    : Metric(name, 2 * std::int64_t{checked_thresholds(thresholds)}, curve_counts(thresholds), area, Better::larger) {}
RootMeanSquaredError::RootMeanSquaredError(const std::string& name)
    : Metric(
          name, 2, mean_counts(name, squared_errors),
          [](std::span<const double> counts) { return std::sqrt(ratio(counts)); }, Better::smaller) {}

Metric resolved_accuracy(const Metric& any, const Loss* loss, int target_rank, int prediction_rank,
                         std::optional<std::int64_t> last_size) {
  const Targets targets = loss == nullptr ? Targets::numbers : loss->targets();
  if (prediction_rank < 2 || last_size == 1 || targets == Targets::yes_or_no)
    return BinaryAccuracy(BinaryAccuracy::default_threshold, any.name());
  if (targets == Targets::classes || target_rank < prediction_rank) return SparseCategoricalAccuracy(any.name());
  return CategoricalAccuracy(any.name());
}

struct Counter::Functions {
  using Key = std::tuple<DType, int, DType, int, DType, int>;
  std::map<Key, Function> compiled;
};

void Counter::update(const Array& target, const Array& prediction, const std::optional<Array>& weight, Where where) {
  if (prediction.rank() == 0)
    throw TypeError(fmt::format("{} ({}): the prediction is one number, where samples are along the first axis",
                                metric_.name(), builder::describe(where)));
  if (metric_.is_any_accuracy()) {
    const bool column = target.rank() == prediction.rank() && target.shape(-1) == 1;
    metric_ =
        resolved_accuracy(metric_, nullptr, target.rank() - (column ? 1 : 0), prediction.rank(), prediction.shape(-1));
  }
  const Array weights = weight ? *weight : Array::full(DType::float32, {prediction.shape(0)}, 1);
  if (functions_ == nullptr) functions_ = std::make_shared<Functions>();
  const Functions::Key key{target.dtype(),    target.rank(),   prediction.dtype(),
                           prediction.rank(), weights.dtype(), weights.rank()};
  auto found = functions_->compiled.find(key);
  if (found == functions_->compiled.end()) {
    const auto input = [&](const Array& of, const char* name) {
      return variable({of.dtype(), Sizes(of.shape().size(), unknown_size)}, name, where);
    };
    const Variable t = input(target, "target"), p = input(prediction, "prediction"), w = input(weights, "weight");
    Function counts = function({t, p, w}, metric_.counts(t, p, w),
                               {.name = metric_.name(), .on_unused_input = UnusedInput::ignore}, where);
    found = functions_->compiled.emplace(key, std::move(counts)).first;
  }
  const Array added = found->second(target, prediction, weights).only().to_host();
  for (std::int64_t i = 0; double& count : counts_) count += added.as_double(i++);
}

void Counter::merge(const Counter& other) {
  if (metric_.name() != other.metric_.name() || counts_.size() != other.counts_.size())
    throw ValueError(fmt::format("counts of {} and of {} are not of one metric", metric_.name(), other.metric_.name()));
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

}  // namespace croton::nn
