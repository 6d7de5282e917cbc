// Axes as users of layers count them: axis 0 is the batch.
#pragma once

#include "base/index.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace croton::nn {

/// The position of the axis in a shape of `rank` sizes without the batch; negative axes count from the end. Nothing for
/// the batch, and for axes out of range.
inline std::optional<std::size_t> axis_after_batch(std::int64_t axis, std::size_t rank) {
  const std::int64_t at = axis < 0 ? static_cast<std::int64_t>(rank) + axis : axis - 1;
  return base::is_index(at, rank) ? std::optional(base::to_size(at)) : std::nullopt;
}

}  // namespace croton::nn
