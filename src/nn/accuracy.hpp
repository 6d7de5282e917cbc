// Which accuracy "accuracy" is.
#pragma once

#include <croton/nn/metrics.hpp>

#include <cstdint>
#include <optional>

namespace croton::nn {

/// Binary for predictions of one number (the size of their last axis, where it is known) or by the loss; of classes if
/// the loss takes them or targets have one axis less; else of one-hot targets. It keeps the name. No loss: null.
Metric resolved_accuracy(const Metric& any, const Loss* loss, int target_rank, int prediction_rank,
                         std::optional<std::int64_t> last_size);

}  // namespace croton::nn
