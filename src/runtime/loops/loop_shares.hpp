// The partition of the rows of a loop that is one launch. If each row depends only on the same row of earlier
// steps, threads of the host or blocks of a GPU get their own rows, called a share. Otherwise one thread or one
// block runs all steps, or all blocks of a GPU work on each part of a step, with grid barriers between the parts
// (chosen by loop_choice.hpp).
#pragma once

#include "runtime/loops/loop_layout.hpp"

#include <string>
#include <string_view>

namespace croton::runtime {

/// The name of all loops for overrides of schedules, which are made before their texts have names.
inline constexpr std::string_view loop_name = "loop_";

/// Finds the shares of a layout that has parts, and the row strides of its parts. Returns false, with the reason in
/// `why`, if the host should run the steps. `schedule`: overrides, in the format of the flag.
bool find_shares(LoopLayout& layout, std::string_view schedule, std::string& why);
/// The same for a loop that is shown without a call: rows are partitioned if that is possible.
void show_shares(LoopLayout& layout);

/// Finds the number of blocks of a cooperative launch, from the number of blocks of the compiled text that can run at
/// the same time; 0 if none can.
void find_grid_blocks(LoopLayout& layout, const codegen::Text& text);

/// The work of a step, in elements.
std::int64_t work_of_step(const LoopLayout& layout);
/// "one launch of 8 blocks, each with rows of its own"
std::string describe_shares(const LoopLayout& layout);

}  // namespace croton::runtime
