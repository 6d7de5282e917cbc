// Evaluation of a model: one pass over data without training.
#pragma once

#include "nn/model_state.hpp"

namespace croton::nn {

/// The loss and metrics of all batches. ValueError if there are no batches.
Logs evaluated(Model::State& model, const Dataset& data, Verbose verbose);

}  // namespace croton::nn
