// Chooses how the blocks of a GPU run a loop that is one launch, from its sizes.
#pragma once

#include "codegen/schedule.hpp"

#include <cstdint>
#include <string>

namespace croton::runtime {

/// The work of one step of a loop, in elements. Eight multiplications of a product count as one element.
struct LoopWork {
  std::int64_t elements = 0;
  bool partitioned = false;              // each block has its own rows
  std::int64_t blocks = 1;               // blocks with their own rows; 1 if one block has all rows
  std::int64_t barriers = 1;             // grid barriers, if all blocks work on each part
  std::string why_not_partitioned = {};  // why rows are not partitioned: "its rows need each other"
  std::string why_not_rows = {};         // why blocks cannot have their own rows; empty if they can
  std::string why_not_grid = {};         // why all blocks cannot work on each part; empty if they can
};

enum class LoopForm : std::uint8_t {
  rows,   // each block has its own rows and waits for no other one; or one block has all rows
  grid,   // all blocks work on each part of a step, with grid barriers: a cooperative launch
  steps,  // not one launch: the host runs each step, with products by a library
};
struct LoopChoice {
  LoopForm form = LoopForm::rows;
  std::string why = {};  // why it is this form
};

/// Chooses the form of a loop. `cooperates`: whether the device has cooperative launches.
LoopChoice choose_loop_form(const LoopWork& work, bool cooperates, const codegen::Schedule& schedule);

/// The number of blocks of a cooperative launch. `warps`: the number of warps for the part with the most work.
/// `resident`: the number of blocks that can run at the same time.
int grid_blocks(std::int64_t warps, std::int64_t resident, std::int64_t multiprocessors,
                const codegen::Schedule& schedule);

}  // namespace croton::runtime
