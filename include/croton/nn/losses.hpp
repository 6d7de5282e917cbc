// Losses of models: one number for each sample by Keras's formulas (croton/nnet_losses.hpp has the functions), then
// weighted and reduced.
#pragma once

#include <croton/nn/layer.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace croton::nn {

/// The reduction of the numbers of the samples.
enum class Reduction {
  sum_over_batch_size,  ///< their sum divided by their number (with a mask: by the number of valid ones)
  sum,
  none,  ///< no reduction
};

/// Options of losses; names of reductions: "sum_over_batch_size", "sum", "none".
struct LossOptions {
  static constexpr const char* default_reduction = "sum_over_batch_size";
  std::string reduction = default_reduction;
  std::string name = {};
};

/// The kind of targets.
enum class Targets {
  numbers,
  classes,    ///< class numbers
  yes_or_no,  ///< 0 or 1
};

/// A loss function of (target, prediction). Copies are the same loss. Losses without arguments have names, in Keras's
/// spellings: "mse", "mae", "mape", "msle" (or "mean_squared_error", "MeanSquaredError" and so on),
/// "binary_crossentropy" ("bce"), "categorical_crossentropy", "sparse_categorical_crossentropy", "hinge",
/// "squared_hinge", "categorical_hinge", "huber", "log_cosh", "kl_divergence" ("kld"), "poisson", "cosine_similarity"
/// (ValueError, with the list, for another).
///
/// Targets have the shape of the prediction, up to a last axis of size 1; class numbers (integers, or floats that hold
/// such) one axis less, or a last axis of size 1. TypeError, or ShapeError, for others: they do not broadcast. Integers
/// are converted to floatX, floats of 16 bits to float32. Targets of "hinge" and "squared_hinge" that are all 0 or 1
/// count as -1 and 1.
class Loss {
 public:
  /// Computes one number for each sample (and step) from target and prediction, whose first axis is the batch.
  using Samples = std::function<Variable(const Variable& target, const Variable& prediction)>;
  Loss(const char* name) : Loss(std::string_view(name)) {}
  Loss(std::string_view name);
  Loss(const std::string& name) : Loss(std::string_view(name)) {}
  Loss(Samples samples, const LossOptions& options = {});

  /// The reduced loss: a scalar, or with "none" a number for each sample; 0 if no sample is valid. Weights have one
  /// number for each sample, or each step, and do not change the divisor; a mask (bool) marks the valid steps.
  Variable operator()(const Variable& target, const Variable& prediction) const;
  Variable operator()(const Variable& target, const Variable& prediction, const Variable& sample_weight,
                      const Variable& mask = {}) const;
  /// The numbers of the samples, without weights and reduction.
  Variable samples(const Variable& target, const Variable& prediction) const { return samples_(target, prediction); }
  const std::string& name() const { return name_; }
  Reduction reduction() const { return reduction_; }
  /// Whether targets are class numbers.
  bool takes_classes() const { return targets_ == Targets::classes; }
  Targets targets() const { return targets_; }

 protected:
  Loss(Samples samples, const LossOptions& options, const char* name, Targets targets = Targets::numbers);

 private:
  Samples samples_;
  std::string name_;
  Reduction reduction_ = Reduction::sum_over_batch_size;
  Targets targets_ = Targets::numbers;
};

struct ProbabilityLossOptions {
  /// Predictions are logits; otherwise probabilities, which are divided by their sum (except binary ones) and clipped
  /// to 1e-7 ... 1 - 1e-7.
  bool from_logits = false;
  double label_smoothing = 0;
  std::string reduction = LossOptions::default_reduction;
  std::string name = {};
};
/// Directly after a softmax or sigmoid (of a layer or a function) the stable form on its logits is computed, without
/// clipping.
struct SparseCategoricalCrossentropy : Loss {
  explicit SparseCategoricalCrossentropy(const ProbabilityLossOptions& options = {});
};
struct CategoricalCrossentropy : Loss {
  explicit CategoricalCrossentropy(const ProbabilityLossOptions& options = {});
};
struct BinaryCrossentropy : Loss {
  explicit BinaryCrossentropy(const ProbabilityLossOptions& options = {});
};
struct MeanSquaredError : Loss {
  explicit MeanSquaredError(const LossOptions& options = {});
};
struct MeanAbsoluteError : Loss {
  explicit MeanAbsoluteError(const LossOptions& options = {});
};
struct Huber : Loss {
  static constexpr double default_delta = 1;
  explicit Huber(double delta = default_delta, const LossOptions& options = {});
};
struct KLDivergence : Loss {
  explicit KLDivergence(const LossOptions& options = {});
};
struct Poisson : Loss {
  explicit Poisson(const LossOptions& options = {});
};
struct Hinge : Loss {
  explicit Hinge(const LossOptions& options = {});
};
struct CosineSimilarity : Loss {
  static constexpr int default_axis = -1;
  explicit CosineSimilarity(int axis = default_axis, const LossOptions& options = {});
};

struct AverageLossOptions {
  std::int64_t global_batch_size = 0;
};
/// sum(per_sample) / global_batch_size: the contribution of a replica to the mean loss of the whole batch. The numbers
/// of all replicas add up to this mean, except for rounding. ValueError for a size below 1.
Variable compute_average_loss(const Variable& per_sample, const AverageLossOptions& options);

}  // namespace croton::nn
