// A training: the epochs of one call of fit.
#pragma once

#include "nn/epochs.hpp"
#include "nn/model_state.hpp"
#include "nn/progress.hpp"

#include <cstdint>
#include <optional>

namespace croton::nn {

/// The data of `validation_data`, in batches.
Dataset validation_of_arrays(const FitOptions& options);

class Training {
 public:
  /// A training of a compiled model; all arguments must outlive it. ValueError for options that do not apply to a
  /// Dataset. The model's state then records that a training has begun.
  Training(Model& model, Model::State& state, const Dataset& dataset, const FitOptions& options);
  /// Runs all epochs, with callbacks and progress output.
  History run();

 private:
  std::optional<Logs> run_epoch(std::int64_t epoch);
  std::int64_t learn(EpochProgress& progress);
  void learn_batch(const Batch& batch, std::int64_t number);
  void validate(std::int64_t epoch, Logs& logs);
  void warn_of_end(std::int64_t epoch, std::int64_t done) const;
  template <class Event>
  void notify_callbacks(const Event& event) const;

  Model& model_;
  Model::State& state_;
  const FitOptions& options_;
  std::int64_t first_;  // epoch
  Dataset data_;
  std::optional<Dataset> validation_;
  EpochBatches epochs_;
  std::optional<std::int64_t> steps_;  // of an epoch, if known
  bool has_batch_logs_;                // whether a callback needs them
  bool warned_ = false;
};

}  // namespace croton::nn
