// A simulated GPU as a device of the runtime: its memory, its kernels, and products by the host's BLAS on its memory.
#pragma once

#include "runtime/device/backend.hpp"

namespace croton::runtime::simulator {

/// cuda0, cuda1, ..., as many as the flag cuda_simulator says; each has memory of its own. A part of one is like any
/// other.
const Backend& backend();

}  // namespace croton::runtime::simulator
