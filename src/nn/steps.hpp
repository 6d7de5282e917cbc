// The functions of a model's steps, which are made when first needed and kept: by what they do, and by the types that a
// batch brings.
#pragma once

#include "nn/model_state.hpp"

namespace croton::nn {

/// A step of training: the model, its loss, gradients, the optimizer's updates and the counts of loss and metrics.
Function train_step(Model::State& model, const Batch& batch);
/// Counts of loss and metrics alone.
Function test_step(Model::State& model, const Batch& batch);
/// The model's outputs.
Function predict_step(Model::State& model);
/// Calls one of them with a batch, of which each shard gets its part.
Outputs call_step(const Model::State& model, const Function& step, const Batch& batch);

/// The loss of an output.
const Loss& loss_of(const Model::State& model, std::size_t output);

}  // namespace croton::nn
