// How the rows of a loop that is one launch are shared out. Where all that a step reads of the steps before lies in the
// row that it computes, threads of the host or blocks of a GPU have rows of their own. Where rows need each other, one
// thread, or one block, goes through the steps; or all blocks of a GPU do, and meet between the parts of a step
// (loop_choice.hpp says when).
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <string>
#include <string_view>

namespace croton::runtime {

/// The shares of a loop whose parts are found, and the rows of its parts. False where the host should run the steps:
/// `why` says the reason. `schedule`: overrides, as the flag has them.
bool find_shares(LoopLayout& layout, std::string_view schedule, std::string& why);
/// The same for sizes that stand for any: rows are shared out where they can be.
void show_shares(LoopLayout& layout);

/// Blocks of a cooperative launch. How many run at the same time is known when its text is compiled; 0: none can.
void find_grid_blocks(LoopLayout& layout, const codegen::Text& text);

/// In elements.
std::int64_t work_of_step(const LoopLayout& layout);
/// "one launch of 8 blocks, each with rows of its own"
std::string describe_shares(const LoopLayout& layout);

}  // namespace croton::runtime
