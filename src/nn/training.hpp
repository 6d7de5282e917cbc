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
  /// Of a model that is compiled; all of them stay until the end. ValueError for options that a training over a Dataset
  /// does not take. The model's state then says that a training has begun.
  Training(Model& model, Model::State& state, const Dataset& dataset, const FitOptions& options);
  /// All epochs, with what callbacks and the terminal hear of them.
  History run();

 private:
  std::optional<Logs> run_epoch(std::int64_t epoch);
  std::int64_t learn(EpochProgress& progress);
  void learn_batch(const Batch& batch, std::int64_t number);
  void validate(std::int64_t epoch, Logs& logs);
  void warn_of_end(std::int64_t epoch, std::int64_t done) const;
  template <class Event>
  void tell(const Event& event) const;

  Model& model_;
  Model::State& state_;
  const FitOptions& options_;
  std::int64_t first_;  // epoch
  Dataset data_;
  std::optional<Dataset> validation_;
  EpochBatches epochs_;
  std::optional<std::int64_t> steps_;  // of an epoch, where that is known
  bool has_batch_logs_;                // whether callbacks want them
  bool warned_ = false;
};

}  // namespace croton::nn
