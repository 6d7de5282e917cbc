// Findings in words.
#pragma once

#include <string>

#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/shape.hpp"

namespace croton::runtime::simulator {

/// What is wrong, where in the text, and what it has to do with; kernel, block and thread are left to the caller.
/// `checker` is null where the program is not checked, `own_block` is the block whose thread it is.
std::string describe(const Finding& finding, const Program& program, const AccessChecker* checker, unsigned own_block,
                     const LaunchShape& shape);

}  // namespace croton::runtime::simulator
