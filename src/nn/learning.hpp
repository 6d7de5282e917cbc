// Shared code of fit, evaluate and the steps on single batches.
#pragma once

#include "nn/model_state.hpp"

namespace croton::nn {

/// The options of compile; TypeError before compile.
const CompileOptions& compiled(const Model::State& model);
/// ValueError or ShapeError for a batch that does not fit the model.
void check_batch(const Model::State& model, const Batch& batch);

/// Sets the counts of loss and metrics to zero.
void reset_counts(Model::State& model);
/// The loss and metrics of all batches since reset_counts. Waits for the device.
Logs logs_of(const Model::State& model);

}  // namespace croton::nn
