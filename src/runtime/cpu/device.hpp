// The host as a device of the runtime, and the parts of it that programs treat as devices of their own. All use the
// memory of the process; a part has an account of its own. Their kernels are CPU code, which the runtime runs itself
// (kernels.hpp, threads.hpp); products and convolutions come from blas/ and dnn/.
#pragma once

#include "runtime/device/backend.hpp"

namespace croton::runtime {

/// The host: cpu, place 0 of a placed graph. Its arrays are those of the whole program.
Device& host_device();

namespace cpu {

/// cpu, which is the host, and cpu1, cpu2, ... if the flag logical_devices asks for parts of it.
const Backend& backend();

}  // namespace cpu
}  // namespace croton::runtime
