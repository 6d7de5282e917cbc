// The compiled functions of a model's steps, made on first use and cached by their task and the types of the batch.
#pragma once

#include "nn/model_state.hpp"

namespace croton::nn {

/// A step of training: the model, its loss, gradients, the optimizer's updates and the counts of loss and metrics.
Function train_step(Model::State& model, const Batch& batch);
/// A step of evaluation: only the counts of loss and metrics.
Function test_step(Model::State& model, const Batch& batch);
/// A step of prediction: the model's outputs.
Function predict_step(Model::State& model);
/// Calls a step with a batch; each shard gets its part.
Outputs call_step(const Model::State& model, const Function& step, const Batch& batch);

/// The loss of an output.
const Loss& loss_of(const Model::State& model, std::size_t output);

}  // namespace croton::nn
