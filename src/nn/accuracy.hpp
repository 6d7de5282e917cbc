// The metric that the name "accuracy" selects.
#pragma once

#include <croton/nn/metrics.hpp>

#include <cstdint>
#include <optional>

namespace croton::nn {

/// The accuracy that fits a loss (null: none) and the shapes: binary if the predictions are single numbers
/// (`last_size`, the size of their last axis where it is known, is 1) or the loss is binary; sparse if the loss takes
/// class numbers or the targets have one axis less; else for one-hot targets. The result keeps the name of `any`.
Metric resolved_accuracy(const Metric& any, const Loss* loss, int target_rank, int prediction_rank,
                         std::optional<std::int64_t> last_size);

}  // namespace croton::nn
