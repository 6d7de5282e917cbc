// The reference evaluator of kernels: the loops of kernel.hpp as they are described there, in scalars, in order.
#pragma once

#include "kernel/kernel.hpp"

#include <croton/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace croton::kernel {

/// `reads`: the read operands in order; `extents`: the sizes that a launch passes; `shapes`: of the written operands.
/// Gives the written ones; elements that no store writes are 0. Reductions run over the inner elements in C order,
/// floats in double. IndexError where a check fails (with its message) or an index lies outside an operand.
std::vector<Array> evaluate(const Kernel& kernel, std::span<const Array> reads, std::span<const std::int64_t> extents,
                            std::span<const Sizes> shapes);

}  // namespace croton::kernel
