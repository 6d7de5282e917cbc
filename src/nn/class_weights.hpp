// Weights of samples by their classes.
#pragma once

#include "nn/model_state.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace croton::nn {

/// Batches with weights by class numbers, times those that they have; the data itself where the table is empty.
/// ValueError for a model of several outputs, and later for batches whose targets say no class.
Dataset with_class_weights(const Model::State& model, const Dataset& data,
                           const std::vector<std::pair<std::int64_t, double>>& table);

}  // namespace croton::nn
