// The parts of a step: the kernels and products of a loop's body, for a loop that is one launch.
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <string>

namespace croton::runtime {

/// Finds the parts of a step, for a layout that has sizes and motions. Returns false, with the reason in `why`, if a
/// part cannot be in a launch of all steps. On a GPU the reasons that depend on the blocks are in the layout's work.
bool find_parts(LoopLayout& layout, std::string& why);
/// The same for a loop that is shown without a call.
void show_parts(LoopLayout& layout);
/// Finds the parts after which threads synchronise. No barrier is needed between parts that neither read nor overwrite
/// each other's results.
void find_barriers(LoopLayout& layout);
/// Whether a step, whose barriers have been found, writes the condition before its first barrier: while other threads
/// may still read that of the step before.
bool writes_condition_at_once(const LoopLayout& layout);

}  // namespace croton::runtime
