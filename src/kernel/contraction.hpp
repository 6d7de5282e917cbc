// Contractions: kernels that add up products of a value of the rows and a value of the columns, such as convolutions
// and products of matrices are. Each of the two values is used many times, so that it pays to bring them together once,
// in the order in which they are multiplied, whatever they are made of.
#pragma once

#include "kernel/kernel.hpp"

#include <optional>

namespace croton::kernel {

/// To which of the two factors an axis belongs.
enum class Side : std::uint8_t {
  both,     // one contraction for each index
  rows,     // only the left factor moves along it
  columns,  // only the right one, among them the last parallel axis
  inner,    // added up
};

struct Contraction {
  NodeId left, right;
  std::vector<Side> side;  // of each axis
};

/// The factors of the kernel's only stage, if it is one that adds up products in float32 or float64, no factor moves
/// along all parallel axes, and nothing but the stage walks the inner ones.
std::optional<Contraction> as_contraction(const Kernel& kernel);

}  // namespace croton::kernel
