// The memory that a kernel touches for its sizes: the bytes of each operand, and how often its loops read them.
#pragma once

#include <croton/function.hpp>

#include <span>
#include <vector>

#include "runtime/bound/bound_kernel.hpp"

namespace croton::runtime {

/// The operands of the kernels of one launch, in their order, without those that are passed in registers. `memory` has
/// the layouts of their buffers.
std::vector<KernelOperand> traffic_of(std::span<const BoundKernel> kernels, const Memory& memory);

}  // namespace croton::runtime
