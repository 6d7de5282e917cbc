// The kernels and products of a loop's body as parts of each step of one launch.
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <string>

namespace croton::runtime {

/// The parts of a step, for a body whose sizes and motions are found. False where one of them cannot be in a launch of
/// all steps: `why` says the reason. On a GPU the layout's work has the reasons that depend on the blocks.
bool find_parts(LoopLayout& layout, std::string& why);
/// The same for sizes that stand for any.
void show_parts(LoopLayout& layout);
/// After which parts threads wait for each other: parts that neither wait for each other nor overwrite what another one
/// reads need not meet.
void find_meetings(LoopLayout& layout);

}  // namespace croton::runtime
