// A simulated GPU as a device of the runtime: its memory, its kernels, and products that the host's BLAS does in it.
#pragma once

#include "runtime/device/backend.hpp"

namespace croton::runtime::simulator {

/// cuda0, cuda1, ... as the flag cuda_simulator asks for: each has memory of its own. A part of one differs in nothing
/// from another one.
const Backend& backend();

/// The one of that number, whether or not the flags say that there is any.
runtime::Device& device(int number);

}  // namespace croton::runtime::simulator
