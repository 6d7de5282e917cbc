// The makers of the workloads, by theme; workloads.cpp has the list of their names and sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/noise.hpp"
#include "gpu/workloads.hpp"

namespace bench::gpu {

inline constexpr double float_bytes = 4;

/// A shared variable that a step writes, of this rank; it has no elements before the first.
croton::SharedVariable written(int rank, const std::string& name);
using Updates = std::vector<std::pair<croton::Variable, croton::Variable>>;
/// A step with the updates that `build` returns; building is timed.
Work work_of(std::vector<croton::SharedVariable> results, const std::function<Updates()>& build);

// elementwise.cpp
Work copy(std::int64_t n);
Work add(std::int64_t n);
Work axpy_chain(std::int64_t n);
Work transpose(std::int64_t rows, std::int64_t columns);

// rows.cpp
Work softmax(std::int64_t rows, std::int64_t columns);
/// The sum of a matrix over axis 0 or 1.
Work reduce_sum(std::int64_t rows, std::int64_t columns, int axis);
Work reduce_sum_all(std::int64_t rows, std::int64_t columns);

// layer_norm.cpp
Work layer_norm(std::int64_t rows, std::int64_t columns);
Work layer_norm_grad(std::int64_t rows, std::int64_t columns);

// adam.cpp
/// Over the 100 tensors of a transformer of eight layers.
Work adam(std::int64_t scale);

// mlp.cpp
Work mlp_step(std::int64_t scale);
Work mlp_big(std::int64_t scale);

}  // namespace bench::gpu
