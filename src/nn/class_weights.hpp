// Weights of samples by their classes.
#pragma once

#include "nn/model_state.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace croton::nn {

/// Batches whose samples are weighted by class, in addition to weights that they already have; the data itself for an
/// empty table. ValueError for a model of several outputs, and when a batch is read whose targets are not classes.
Dataset with_class_weights(const Model::State& model, const Dataset& data,
                           const std::vector<std::pair<std::int64_t, double>>& table);

}  // namespace croton::nn
