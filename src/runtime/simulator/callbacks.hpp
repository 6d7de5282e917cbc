// The functions that the code of simulated kernels calls (codegen_templates/common/device_simulator.hpp declares them).
#pragma once

#include <span>
#include <string>
#include <utility>

namespace croton::runtime::simulator {

/// Their names and addresses, for the linker.
std::span<const std::pair<std::string, void*>> callbacks();

}  // namespace croton::runtime::simulator
