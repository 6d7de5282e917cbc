#include "runtime/loops/loop_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "codegen_templates/common/sizes.hpp"

namespace croton::runtime {
namespace {

// What one block does for all others in a step, if it has to: beyond that the launches of the host's steps, of about 4
// microseconds each, cost less than multiprocessors that have nothing to do.
constexpr std::int64_t most_alone = std::int64_t{1} << 18;

// More blocks on a multiprocessor hide no more of the memory's latency (1024 threads of 256 do), and each makes a
// meeting longer.
constexpr std::int64_t blocks_on_multiprocessor = 4;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

LoopChoice choose_loop_form(const LoopWork& work, bool cooperates, const codegen::Schedule& schedule) {
  const std::int64_t of_block = ceiling(work.elements, work.blocks);
  // What a block computes while the others work too is small beside it.
  const bool gains = of_block > work.meetings * schedule.meeting;
  const bool too_long = !work.shared_out && work.elements > most_alone;
  const bool grid_can = cooperates && work.too_much_of_grid.empty();
  const std::string of_step = fmt::format("({} element{}, {} meeting{})", work.elements, work.elements == 1 ? "" : "s",
                                          work.meetings, work.meetings == 1 ? "" : "s");
  if (!work.too_much_of_rows.empty()) {
    if (grid_can) return {LoopForm::grid, work.too_much_of_rows};
    return {LoopForm::steps, cooperates ? work.too_much_of_grid : work.too_much_of_rows};
  }
  if ((gains || too_long) && grid_can) {
    return {LoopForm::grid, fmt::format("{}, and a step is long {}", work.together, of_step)};
  }
  if (too_long) {
    return {LoopForm::steps,
            fmt::format("{}, a step is long, and {}", work.together,
                        cooperates ? work.too_much_of_grid : "blocks cannot wait for each other here")};
  }
  if (work.shared_out) return {};
  return {LoopForm::rows, fmt::format("{}, and a step is short {}", work.together, of_step)};
}

int grid_blocks(std::int64_t warps, std::int64_t resident, std::int64_t multiprocessors,
                const codegen::Schedule& schedule) {
  const std::int64_t most = std::min<std::int64_t>(
      {resident, blocks_on_multiprocessor * std::max<std::int64_t>(1, multiprocessors), schedule.blocks});
  // Little work goes to many multiprocessors, a warp each.
  const std::int64_t wanted = std::max(ceiling(warps, schedule.threads / ct::lanes), std::min(warps, multiprocessors));
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

}  // namespace croton::runtime
