// Metrics: counts that batches add to, and a number computed from them at the end. The counts are variables of a model,
// so that a training step adds to them on the device, and the counts of replicas can be added up.
#pragma once

#include <croton/nn/losses.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nn {

/// Whether smaller or larger numbers are better. A callback with `automatic` uses the value of its metric; if that is
/// also `automatic`, the callback needs an explicit value.
enum class Better { automatic, smaller, larger };

/// A metric. Copies are the same metric. Names: "accuracy" or "acc" (sparse, categorical or binary, by the loss and the
/// prediction), "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy", "top_k_categorical_accuracy",
/// "sparse_top_k_categorical_accuracy" (k = 5), "precision", "recall", "auc", "root_mean_squared_error" ("rmse"),
/// "cosine_similarity" (1 for parallel vectors; the loss is -1), and the names of losses, for their mean (ValueError,
/// with the list, for another name). Spellings are Keras's, including "AUC" and "MeanSquaredError"; numbers are logged
/// under the given name.
///
/// Targets and predictions are as in losses. Means are weighted: sum(w v) / sum(w), where all numbers of a sample, or
/// step, with one weight count as one; 0 if the divisor is 0. A prediction with a nan, or a class that does not exist,
/// is never correct.
class Metric {
 public:
  /// Computes the counts of a batch: a vector of `states` numbers, float64. Weights: one number for each sample (or
  /// step); always defined.
  using Counts = std::function<Variable(const Variable& target, const Variable& prediction, const Variable& weight)>;
  /// Computes the metric from the counts of all batches.
  using Result = std::function<double(std::span<const double> counts)>;
  static constexpr Better default_better = Better::automatic;

  Metric(const char* name) : Metric(std::string_view(name)) {}
  Metric(std::string_view name);
  Metric(const std::string& name) : Metric(std::string_view(name)) {}
  Metric(std::string name, std::int64_t states, Counts counts, Result result, Better better = default_better);
  /// The mean of a number for each sample.
  Metric(std::string name, Loss::Samples samples, Better better = default_better);

  const std::string& name() const { return name_; }
  std::int64_t states() const { return states_; }
  Variable counts(const Variable& target, const Variable& prediction, const Variable& weight) const {
    return counts_(target, prediction, weight);
  }
  double result(std::span<const double> counts) const { return result_(counts); }
  Better better() const { return better_; }
  /// Whether it is "accuracy", which `compile` replaces by the kind of accuracy for the loss.
  bool is_any_accuracy() const { return counts_ == nullptr; }

 private:
  std::string name_;
  std::int64_t states_ = 2;
  Counts counts_;
  Result result_;
  Better better_ = default_better;
};

struct SparseCategoricalAccuracy : Metric {
  static constexpr const char* default_name = "sparse_categorical_accuracy";
  explicit SparseCategoricalAccuracy(const std::string& name = default_name);
};
struct CategoricalAccuracy : Metric {
  static constexpr const char* default_name = "categorical_accuracy";
  explicit CategoricalAccuracy(const std::string& name = default_name);
};
struct BinaryAccuracy : Metric {
  static constexpr double default_threshold = 0.5;
  static constexpr const char* default_name = "binary_accuracy";
  explicit BinaryAccuracy(double threshold = default_threshold, const std::string& name = default_name);
};
/// The fraction of samples for which fewer than k classes (at least 1, ValueError) have a higher prediction than the
/// target's class; ties count as correct.
struct TopKCategoricalAccuracy : Metric {
  static constexpr std::int64_t default_k = 5;
  static constexpr const char* default_name = "top_k_categorical_accuracy";
  explicit TopKCategoricalAccuracy(std::int64_t k = default_k, const std::string& name = default_name);
};
struct SparseTopKCategoricalAccuracy : Metric {
  static constexpr std::int64_t default_k = 5;
  static constexpr const char* default_name = "sparse_top_k_categorical_accuracy";
  explicit SparseTopKCategoricalAccuracy(std::int64_t k = default_k, const std::string& name = default_name);
};
/// The fraction of predictions above the threshold whose target is 1, for targets 0 and 1.
struct Precision : Metric {
  static constexpr double default_threshold = 0.5;
  static constexpr const char* default_name = "precision";
  explicit Precision(double threshold = default_threshold, const std::string& name = default_name);
};
/// The fraction of targets 1 whose prediction is above the threshold.
struct Recall : Metric {
  static constexpr double default_threshold = 0.5;
  static constexpr const char* default_name = "recall";
  explicit Recall(double threshold = default_threshold, const std::string& name = default_name);
};
/// The area under the curve of true against false positives of probabilities, by the trapezoidal rule over `thresholds`
/// thresholds (at least 2, ValueError), evenly spaced from just below 0 to just above 1.
struct AUC : Metric {
  static constexpr int default_thresholds = 200;
  static constexpr const char* default_name = "auc";
  explicit AUC(int thresholds = default_thresholds, const std::string& name = default_name);
};
struct RootMeanSquaredError : Metric {
  static constexpr const char* default_name = "root_mean_squared_error";
  explicit RootMeanSquaredError(const std::string& name = default_name);
};

/// A metric outside of models: `update` with arrays, `result`, `reset`. The kind of "accuracy" is chosen by the first
/// arrays. A function is compiled for each combination of dtypes and ranks.
class Counter {
 public:
  explicit Counter(Metric metric) : metric_(std::move(metric)), counts_(static_cast<std::size_t>(metric_.states())) {}
  void update(const Array& target, const Array& prediction, const std::optional<Array>& weight = {},
              Where where = std::source_location::current());
  double result() const { return metric_.result(counts_); }
  void reset() { counts_.assign(counts_.size(), 0); }
  /// Adds the counts of another counter of the same metric (ValueError).
  void merge(const Counter& other);

 private:
  struct Functions;
  Metric metric_;
  std::shared_ptr<Functions> functions_;
  std::vector<double> counts_;
};

}  // namespace croton::nn
