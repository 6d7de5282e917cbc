// From which parameter of the kernel an address comes: it tells which operand an instruction accesses, where the
// compiler gives the accesses of several operands one line; and whether all threads of a block have the same one.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/inspect/control_flow.hpp"

namespace croton::runtime::cuda {

struct Address {
  int parameter = -1;     ///< the first parameter of 8 bytes, from 0, that is part of it; -1: none
  bool of_thread = true;  ///< threads of a block may have different ones, or a thread in a loop
};

/// Per instruction, the address of its access of global memory; others have none. A pointer comes before the numbers
/// from which offsets are computed.
std::vector<Address> find_addresses(const Code& code, const ControlFlow& flow);

}  // namespace croton::runtime::cuda
