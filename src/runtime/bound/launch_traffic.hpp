// The memory that a kernel touches for its sizes: the bytes of each operand, and how often its loops read them.
#pragma once

#include <croton/function.hpp>

#include <vector>

#include "runtime/bound/bound_kernel.hpp"

namespace croton::runtime {

/// The operands of a kernel, in its order. `memory` has the layouts of their buffers.
std::vector<KernelOperand> traffic_of(const BoundKernel& kernel, const Memory& memory);

}  // namespace croton::runtime
