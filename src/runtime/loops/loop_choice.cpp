#include "runtime/loops/loop_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.hpp"
#include "base/rounding.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::runtime {
namespace {

// The maximal number of elements of a step that one block computes alone. With more elements, idle multiprocessors cost
// more than separate launches by the host, of about 4 microseconds each.
constexpr std::int64_t max_elements_of_one_block = std::int64_t{1} << 18;

// More blocks on a multiprocessor do not hide more of the memory's latency (four blocks of 256 threads suffice), and
// each block makes a grid barrier longer.
constexpr std::int64_t max_blocks_per_multiprocessor = 4;

}  // namespace

LoopChoice choose_loop_form(const LoopWork& work, bool cooperates, const codegen::Schedule& schedule) {
  const std::int64_t of_block = base::ceil_div(work.elements, work.blocks);
  // In the grid form all blocks share this work, so the time of one block is small and neglected.
  const bool gains = of_block > work.barriers * schedule.meeting;
  const bool too_long = !work.partitioned && work.elements > max_elements_of_one_block;
  const bool grid_can = cooperates && work.why_not_grid.empty();
  const std::string of_step =
      fmt::format("({}, {})", base::counted(work.elements, "element"), base::counted(work.barriers, "grid barrier"));
  if (!work.why_not_rows.empty()) {
    if (grid_can) return {LoopForm::grid, work.why_not_rows};
    return {LoopForm::steps, cooperates ? work.why_not_grid : work.why_not_rows};
  }
  if ((gains || too_long) && grid_can) {
    return {LoopForm::grid, fmt::format("{}, and a step is long {}", work.why_not_partitioned, of_step)};
  }
  if (too_long) {
    return {LoopForm::steps, fmt::format("{}, a step is long, and {}", work.why_not_partitioned,
                                         cooperates ? work.why_not_grid : "blocks cannot wait for each other here")};
  }
  if (work.partitioned) return {};
  return {LoopForm::rows, fmt::format("{}, and a step is short {}", work.why_not_partitioned, of_step)};
}

int grid_blocks(std::int64_t warps, std::int64_t resident, std::int64_t multiprocessors,
                const codegen::Schedule& schedule) {
  const std::int64_t most = std::min<std::int64_t>(
      {resident, max_blocks_per_multiprocessor * std::max<std::int64_t>(1, multiprocessors), schedule.blocks});
  // A small amount of work is distributed over many multiprocessors, one warp each.
  const std::int64_t wanted =
      std::max<std::int64_t>(base::ceil_div(warps, schedule.threads / ct::lanes), std::min(warps, multiprocessors));
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

}  // namespace croton::runtime
