// What the code of simulated kernels calls (declared for it in codegen_templates/common/device_simulator.hpp).
#pragma once

#include <span>
#include <string>
#include <utility>

namespace croton::runtime::simulator {

/// Names and addresses, to link a program with.
std::span<const std::pair<std::string, void*>> callbacks();

}  // namespace croton::runtime::simulator
