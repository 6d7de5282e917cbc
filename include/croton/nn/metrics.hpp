// Metrics: counts that batches add to, and a number made of them at the end. The counts are variables of a model, so
// that a step of training adds to them on the device, and replicas' counts can be added up.
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

/// Which numbers are better. A callback asks the metric that it watches (`automatic`); a metric that says nothing has
/// `automatic` too, and the callback must be told.
enum class Better { automatic, smaller, larger };

/// Copies are the same metric. Text: "accuracy" or "acc" (sparse, categorical or binary, by the loss and the
/// prediction), "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy", "top_k_categorical_accuracy",
/// "sparse_top_k_categorical_accuracy" (k = 5), "precision", "recall", "auc", "root_mean_squared_error" ("rmse"),
/// "cosine_similarity" (1 for one direction, where the loss is -1), and the names of losses, of which it is the mean
/// (ValueError, with the list, for another). Spellings are Keras's, "AUC" and "MeanSquaredError" among them; numbers
/// are logged under the name that was given.
///
/// Targets and predictions are taken as losses take them. Means are weighted: sum(w v) / sum(w), all numbers of a
/// sample, or step, that has one weight counting as one; 0 where there is nothing to divide by. A prediction with a nan
/// is never right, and a class that there is not neither.
class Metric {
 public:
  /// What a batch adds: a vector of `states` numbers, float64. Weights: one number for each sample (or step); always
  /// defined.
  using Counts = std::function<Variable(const Variable& target, const Variable& prediction, const Variable& weight)>;
  /// The metric from the counts of all batches.
  using Result = std::function<double(std::span<const double> counts)>;

  Metric(const char* name) : Metric(std::string_view(name)) {}
  Metric(std::string_view name);
  Metric(const std::string& name) : Metric(std::string_view(name)) {}
  Metric(std::string name, std::int64_t states, Counts counts, Result result, Better better = Better::automatic);
  /// The mean of a number for each sample.
  Metric(std::string name, Loss::Samples samples, Better better = Better::automatic);

  const std::string& name() const { return name_; }
  std::int64_t states() const { return states_; }
  Variable counts(const Variable& target, const Variable& prediction, const Variable& weight) const {
    return counts_(target, prediction, weight);
  }
  double result(std::span<const double> counts) const { return result_(counts); }
  Better better() const { return better_; }
  /// Whether it is "accuracy", which `compile` replaces by the one that fits the loss.
  bool is_any_accuracy() const { return counts_ == nullptr; }

 private:
  std::string name_;
  std::int64_t states_ = 2;
  Counts counts_;
  Result result_;
  Better better_ = Better::automatic;
};

struct SparseCategoricalAccuracy : Metric {
  explicit SparseCategoricalAccuracy(const std::string& name = "sparse_categorical_accuracy");
};
struct CategoricalAccuracy : Metric {
  explicit CategoricalAccuracy(const std::string& name = "categorical_accuracy");
};
struct BinaryAccuracy : Metric {
  explicit BinaryAccuracy(double threshold = 0.5, const std::string& name = "binary_accuracy");
};
/// Whether fewer than k classes (1 at least, ValueError) are above the target's; ties count for it.
struct TopKCategoricalAccuracy : Metric {
  explicit TopKCategoricalAccuracy(std::int64_t k = 5, const std::string& name = "top_k_categorical_accuracy");
};
struct SparseTopKCategoricalAccuracy : Metric {
  explicit SparseTopKCategoricalAccuracy(std::int64_t k = 5,
                                         const std::string& name = "sparse_top_k_categorical_accuracy");
};
/// Of targets 0 and 1 and predictions above the threshold: the share of these whose target is 1.
struct Precision : Metric {
  explicit Precision(double threshold = 0.5, const std::string& name = "precision");
};
/// And the share of the targets 1 that are among them.
struct Recall : Metric {
  explicit Recall(double threshold = 0.5, const std::string& name = "recall");
};
/// The area under the curve of true against false positives of probabilities, by the trapezoidal rule over so many
/// thresholds (2 at least, ValueError), evenly from just below 0 to just above 1.
struct AUC : Metric {
  explicit AUC(int thresholds = 200, const std::string& name = "auc");
};
struct RootMeanSquaredError : Metric {
  explicit RootMeanSquaredError(const std::string& name = "root_mean_squared_error");
};

/// A metric that is counted by hand: `update` with arrays, `result`, `reset`. "accuracy" is chosen by the first arrays.
/// A function is compiled for each combination of dtypes and ranks.
class Counter {
 public:
  explicit Counter(Metric metric) : metric_(std::move(metric)), counts_(static_cast<std::size_t>(metric_.states())) {}
  void update(const Array& target, const Array& prediction, const std::optional<Array>& weight = {},
              Where where = std::source_location::current());
  double result() const { return metric_.result(counts_); }
  void reset() { counts_.assign(counts_.size(), 0); }
  /// Adds the counts of another of the same metric (ValueError).
  void merge(const Counter& other);

 private:
  struct Functions;
  Metric metric_;
  std::shared_ptr<Functions> functions_;
  std::vector<double> counts_;
};

}  // namespace croton::nn
