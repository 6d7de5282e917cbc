// A logical CPU device: a part of the host that programs treat as a device of its own. Its memory is the process's, on
// an account of its own; its kernels are CPU code and its products the host's.
#pragma once

#include "runtime/device/device.hpp"

#include <memory>

namespace croton::runtime::cpu {

/// cpu1, cpu2, ... (cpu0 is the host itself).
std::unique_ptr<Device> make_device(int index);

}  // namespace croton::runtime::cpu
