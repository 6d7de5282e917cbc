// Findings as messages.
#pragma once

#include <string>

#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/shape.hpp"

namespace croton::runtime::simulator {

/// The fault, its place in the text, and the memory or thread that it involves; the caller adds kernel, block and
/// thread. `checker` is null if the program is not checked; `own_block` is the block of the thread.
std::string describe(const Finding& finding, const Program& program, const AccessChecker* checker, unsigned own_block,
                     const LaunchShape& shape);

}  // namespace croton::runtime::simulator
