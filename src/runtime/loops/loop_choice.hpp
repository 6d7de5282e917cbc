// Which blocks of a GPU run a loop that is one launch, by its sizes.
#pragma once

#include "codegen/schedule.hpp"

#include <cstdint>
#include <string>

namespace croton::runtime {

/// What one step of a loop has to do. Work is counted in elements; eight multiplications of a product are one.
struct LoopWork {
  std::int64_t elements = 0;
  bool shared_out = false;            // each block has rows of its own
  std::int64_t blocks = 1;            // that do, or the one that has all of them
  std::int64_t meetings = 1;          // where all blocks work on each part
  std::string together = {};          // why rows cannot be shared out: "its rows need each other"
  std::string too_much_of_rows = {};  // why blocks with rows of their own will not do; empty if they do
  std::string too_much_of_grid = {};  // why all blocks together will not do
};

enum class LoopForm : std::uint8_t {
  rows,   // each block has rows of its own, and none waits for another; or one block has all of them
  grid,   // all blocks work on each part of a step, and meet before the next: a cooperative launch
  steps,  // not one launch: the host runs each step, with the library's products
};
struct LoopChoice {
  LoopForm form = LoopForm::rows;
  std::string why = {};  // not another
};

/// `cooperates`: whether the device has cooperative launches.
LoopChoice choose_loop_form(const LoopWork& work, bool cooperates, const codegen::Schedule& schedule);

/// Blocks of a launch of the grid. `warps`: of the part with the most work. `resident`: that run at the same time.
int grid_blocks(std::int64_t warps, std::int64_t resident, std::int64_t multiprocessors,
                const codegen::Schedule& schedule);

}  // namespace croton::runtime
