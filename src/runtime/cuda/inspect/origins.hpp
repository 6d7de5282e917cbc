// From which parameter of the kernel an address comes: it tells which operand an instruction accesses, where the
// compiler gives the accesses of several operands one line.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/inspect/control_flow.hpp"

namespace croton::runtime::cuda {

/// Per instruction, the number of the first parameter of 8 bytes, from 0, that is part of its address; -1 if there is
/// none, or it accesses no global memory. A pointer comes before the numbers from which offsets are computed.
std::vector<int> parameters_of_addresses(const Code& code, const ControlFlow& flow);

}  // namespace croton::runtime::cuda
