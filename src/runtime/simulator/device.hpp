// A simulated GPU as a device of the runtime: its memory, its kernels, and products that the host's BLAS does in it.
#pragma once

#include "runtime/device.hpp"

#include <memory>

namespace croton::runtime::simulator {

/// cuda0, cuda1, ...: each has memory of its own.
std::unique_ptr<Device> make_device(int index);

}  // namespace croton::runtime::simulator
