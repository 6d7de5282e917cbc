// The rows of a batch.
#pragma once

#include <croton/nn/data.hpp>

#include <cstdint>

namespace croton::nn {

/// The number of rows of all arrays; ShapeError that names them unless there is one.
std::int64_t common_rows(const Batch& arrays);

}  // namespace croton::nn
