// One pass over data that is not learnt from.
#pragma once

#include "nn/model_state.hpp"

namespace croton::nn {

/// The loss and metrics of all batches. ValueError where there are none.
Logs evaluated(Model::State& model, const Dataset& data, Verbose verbose);

}  // namespace croton::nn
