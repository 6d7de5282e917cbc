// A simulated GPU as a device of the runtime: its memory, its kernels, and products that the host's BLAS does in it.
#pragma once

#include "runtime/device.hpp"

#include <functional>
#include <memory>
#include <string>

namespace croton::runtime::simulator {

/// cuda0, cuda1, ...: each has memory of its own.
std::unique_ptr<Device> make_device(int index);

/// For tests: every unit that is compiled from now on is what `change` makes of it; none: as it is.
void change_texts(std::function<std::string(std::string)> change);

}  // namespace croton::runtime::simulator
