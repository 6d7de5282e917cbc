// The reference evaluator of kernels: it runs the loops described in kernel.hpp, in scalars, in order.
#pragma once

#include "kernel/kernel.hpp"

#include <croton/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace croton::kernel {

/// Runs the kernel and returns the written operands; elements that no store writes are 0. `reads`: the read operands in
/// order; `extents`: the sizes that a launch passes; `shapes`: the shapes of the written operands. Reductions go over
/// the inner elements in C order, floats in double. Raises IndexError if a check fails (with its message) or if an
/// index is outside its operand.
std::vector<Array> evaluate(const Kernel& kernel, std::span<const Array> reads, std::span<const std::int64_t> extents,
                            std::span<const Sizes> shapes);

}  // namespace croton::kernel
