// The rows of a batch.
#pragma once

#include <croton/nn/data.hpp>

#include <cstdint>

namespace croton::nn {

/// The number of rows, which must be the same for all arrays: otherwise a ShapeError names them.
std::int64_t common_rows(const Batch& arrays);

/// Rows begin to end of all arrays.
Batch rows_between(const Batch& arrays, std::int64_t begin, std::int64_t end);

}  // namespace croton::nn
