// Contractions: kernels that sum products of a value of the rows and a value of the columns, such as convolutions and
// matrix products. Each of the two values is used many times. It therefore pays to compute it once and to pack the
// values in the order in which they are multiplied.
#pragma once

#include "kernel/kernel.hpp"

#include <optional>

namespace croton::kernel {

/// The factors that depend on an axis.
enum class Side : std::uint8_t {
  both,     // both factors: one contraction for each index
  rows,     // only the left factor
  columns,  // only the right factor; the last parallel axis is one of these
  inner,    // summed over
};

struct Contraction {
  NodeId left, right;
  std::vector<Side> side;  // of each axis
};

/// The kernel as a contraction, if its only stage sums products in float32 or float64, no factor depends on all
/// parallel axes, and only the stage depends on inner axes.
std::optional<Contraction> as_contraction(const Kernel& kernel);

}  // namespace croton::kernel
