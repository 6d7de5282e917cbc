#include "codegen/schedule.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/rounding.hpp"
#include "codegen/emit.hpp"
#include "codegen/index_width.hpp"
#include "codegen/inner_outer.hpp"
#include "codegen/schedule_column.hpp"
#include "codegen/schedule_overrides.hpp"
#include "codegen/schedule_pointwise.hpp"
#include "codegen/schedule_row.hpp"
#include "codegen/schedule_split.hpp"
#include "codegen/schedule_tiles.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

using kernel::Family;

std::int64_t product(const Launch& launch, std::size_t first, std::size_t last) {
  std::int64_t total = 1;
  for (std::size_t m = first; m < last; ++m) total *= launch.sizes[m];
  return total;
}

std::int64_t at_least_one(std::int64_t n) { return std::max<std::int64_t>(1, n); }

}  // namespace

std::int64_t point_count(const Launch& launch) { return product(launch, 0, launch.variant.parallel.size()); }

std::int64_t inner_length(const Launch& launch) {
  return product(launch, launch.variant.parallel.size(), launch.sizes.size());
}

std::int64_t side_count(const Analysis& analysis, const Launch& launch, kernel::Side side) {
  std::int64_t total = 1;
  for (const std::size_t m : axes_of_side(analysis, launch.variant, side)) total *= launch.sizes[m];
  return total;
}

namespace {

/// The number of tiles of a variant with tiles.
std::int64_t tile_count(const Launch& launch, std::int64_t side) {
  std::int64_t count = 1;
  const std::size_t axes = launch.variant.parallel.size();
  for (std::size_t m = 0; m < axes; ++m) {
    const bool tiled = m + 1 == axes || launch.variant.tile_axis == m;
    count *= tiled ? base::ceil_div(launch.sizes[m], side) : launch.sizes[m];
  }
  return count;
}

Work contract_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  const std::int64_t rows = side_count(analysis, launch, kernel::Side::rows),
                     columns = side_count(analysis, launch, kernel::Side::columns),
                     others = side_count(analysis, launch, kernel::Side::both) *
                              base::ceil_div(columns, ct::cpu_contract_columns);
  const std::int64_t block = ct::cpu_contract_block_rows(rows, others);
  // A multiplication takes about a thirtieth of the time of an element in other families.
  const std::int64_t cost =
      block * std::min<std::int64_t>(columns, ct::cpu_contract_columns) / 32 * at_least_one(inner_length(launch));
  return {others * base::ceil_div(rows, block), at_least_one(schedule.grain / at_least_one(cost))};
}

}  // namespace

Work cpu_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  const std::int64_t points = point_count(launch), length = inner_length(launch);
  switch (analysis.kernel.family) {
    case Family::pointwise:
      if (launch.variant.tiled()) {
        return {tile_count(launch, ct::cpu_tile_side),
                at_least_one(schedule.grain / (ct::cpu_tile_side * ct::cpu_tile_side))};
      }
      return {points, schedule.grain};
    case Family::row:
      return {points, at_least_one(schedule.grain / at_least_one(length))};
    case Family::column: {
      const std::int64_t width = launch.sizes[launch.variant.parallel.size() - 1];
      return {width == 0 ? 0 : points / width * base::ceil_div(width, ct::tile_points),
              at_least_one(schedule.grain / ct::tile_points / at_least_one(length))};
    }
    case Family::split:
      return {base::ceil_div(length, ct::part_elements), at_least_one(schedule.grain / ct::part_elements)};
    case Family::contract:
      return contract_work(analysis, launch, schedule);
  }
  throw InternalError("a kernel of no family");
}

std::int64_t line_count(const Launch& launch) {
  const std::size_t axes = launch.variant.parallel.size();
  return axes == 0 ? 1 : product(launch, 0, axes - 1);
}

std::int64_t tiles_of_line(const Launch& launch, const Schedule& schedule) {
  const std::size_t axes = launch.variant.parallel.size();
  const std::int64_t width = axes == 0 ? 1 : launch.sizes[axes - 1];
  return base::ceil_div(width, std::int64_t{schedule.across} * schedule.vector * (schedule.down ? 1 : schedule.items));
}

std::int64_t gpu_items(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  // Blocks do a part of the columns' reductions each; the rows are done with them.
  if (schedule.rows > 0) return analysis.kernel.family == Family::column ? reduction_parts(launch, schedule) : 0;
  switch (analysis.kernel.family) {
    case Family::pointwise: {
      if (launch.variant.tiled()) return tile_count(launch, schedule.side);
      const std::int64_t below = schedule.threads / schedule.across * (schedule.down ? schedule.items : 1);
      return tiles_of_line(launch, schedule) * base::ceil_div(line_count(launch), below);
    }
    case Family::split:
      return schedule.part > 0 ? reduction_parts(launch, schedule)
                               : base::ceil_div(inner_length(launch), ct::part_elements);
    case Family::column:
      if (schedule.run > 0)
        return tiles_of_line(launch, schedule) * line_count(launch) * reduction_parts(launch, schedule);
      break;
    case Family::row:
      return point_count(launch) * reduction_parts(launch, schedule);
    case Family::contract:
      break;
  }
  return point_count(launch);
}

int tile_blocks(std::int64_t tiles, const Schedule& schedule) {
  return static_cast<int>(std::clamp<std::int64_t>(tiles, 1, schedule.blocks));
}

int thread_blocks(std::int64_t items, const Schedule& schedule) {
  return tile_blocks(base::ceil_div(items, schedule.threads), schedule);
}

std::int64_t group_tiles(const Launch& launch) { return base::ceil_div(point_count(launch), ct::group_tile); }

Work group_work(std::int64_t tiles, const Schedule& schedule) {
  return {tiles, std::max<std::int64_t>(1, schedule.grain / ct::group_tile)};
}

std::int64_t gpu_blocks(const Analysis& analysis, std::int64_t items, const Schedule& schedule) {
  if (schedule.rows > 0) return std::max<std::int64_t>(1, items);
  switch (analysis.kernel.family) {
    case Family::pointwise:
      return std::max<std::int64_t>(1, items);
    case Family::column:
      return schedule.run > 0 ? std::max<std::int64_t>(1, items) : thread_blocks(items, schedule);
    case Family::contract:
      return tile_blocks(
          base::ceil_div(items, std::int64_t{ct::gpu_contract_rows(schedule.threads)} * ct::gpu_contract_columns),
          schedule);
    case Family::row:
      if (schedule.packs > 0)
        return std::max<std::int64_t>(1, base::ceil_div(items, schedule.threads / (schedule.lanes * schedule.warps)));
      break;
    case Family::split:
      if (schedule.part > 0) return items;
      break;
  }
  return tile_blocks(base::ceil_div(items, schedule.threads / ct::lanes), schedule);
}

namespace {

int usual_threads(Family family, const Machine& machine) {
  return family == Family::pointwise ? machine.pointwise_threads : machine.threads;
}

/// The numbers that do not depend on sizes.
Schedule schedule_of_family(Family family, const Machine& machine, const Overrides& wanted) {
  Schedule schedule;
  schedule.grain = wanted.grain.value_or(schedule.grain);
  schedule.threads = wanted.threads.value_or(usual_threads(family, machine));
  schedule.blocks = wanted.blocks.value_or(machine.blocks);
  schedule.meeting = wanted.meeting.value_or(schedule.meeting);
  schedule.across = schedule.threads;
  schedule.index = wanted.index.value_or(IndexWidth::narrow);
  return schedule;
}

/// Whether blocks loop over a grid, so that their number is limited.
bool loops_over_grid(const Schedule& schedule, Family family) {
  return !(family == Family::pointwise || (family == Family::row && schedule.packs > 0) ||
           (family == Family::column && schedule.run > 0) || (family == Family::split && schedule.part > 0));
}

/// The reasons of the numbers of a launch on a GPU that are not part of its text alone. `loops`: over a grid of blocks.
void explain_launch(const Schedule& schedule, Family family, bool loops, const Machine& machine,
                    const Overrides& wanted, Reasons& why) {
  const int threads = schedule.threads;
  std::string because;
  if (threads == wanted.threads)
    because = "set by an override";
  else if (family == Family::row && schedule.warps > 1 && schedule.part == 0)
    because = fmt::format("the {} warps of a row", schedule.warps);
  else if (schedule.side > 0)
    because = "so that each thread loads several packs of a tile";
  else if (family == Family::column && threads > usual_threads(family, machine))
    because = "columns that cannot be split give few blocks";
  else if (family == Family::row && threads < usual_threads(family, machine))
    because = "fewer than usual, so that more multiprocessors have blocks";
  else if (threads == usual_threads(family, machine))
    because = "the usual number for such kernels on this device";
  else
    because = "whole groups of threads";
  if (wanted.threads && threads != wanted.threads) because += fmt::format("; an override asks for {}", *wanted.threads);
  why.push_back(fmt::format("threads={}: {}", threads, because));
  if (!loops) return;
  why.push_back(fmt::format("blocks={}: {}", schedule.blocks,
                            wanted.blocks ? "set by an override" : "at most, each of which may do several items"));
}

/// Applies the override of the width of indices.
void widen_index(Schedule& schedule, const Overrides& wanted, Reasons* why) {
  if (!wanted.index || schedule.index == *wanted.index) return;
  schedule.index = *wanted.index;
  if (why == nullptr) return;
  std::erase_if(*why, [](const std::string& reason) { return reason.starts_with("index="); });
  why->push_back(fmt::format("index={}: set by an override", name_of(schedule.index)));
}

}  // namespace

Schedule choose_schedule(Family family, const Machine& machine, std::string_view overrides,
                         std::string_view kernel_name, Reasons* why) {
  const Overrides wanted = read_overrides(overrides, family, [&] { return std::string(kernel_name); });
  const Schedule schedule = schedule_of_family(family, machine, wanted);
  if (why != nullptr) explain_launch(schedule, family, true, machine, wanted, *why);
  return schedule;
}

Schedule choose_schedule(const Analysis& analysis, const Launch& launch, const Machine& machine,
                         std::string_view overrides, const NameOf& group_name, Reasons* why) {
  const Family family = analysis.kernel.family;
  const auto name = [&] { return group_name ? group_name() : kernel_name(analysis, launch.variant); };
  const Overrides wanted = read_overrides(overrides, family, std::cref(name));
  Schedule schedule = schedule_of_family(family, machine, wanted);
  if (family == Family::pointwise) {
    const auto fit = launch.variant.tiled() ? fit_tiles : fit_pointwise;
    fit(schedule, analysis, launch, machine, wanted, why);
  }
  if (family == Family::row) fit_row(schedule, analysis, launch, machine, wanted, why);
  if (family == Family::column) fit_column(schedule, analysis, launch, machine, wanted, why);
  if (family == Family::split) fit_split(schedule, analysis, launch, machine, wanted.part, why);
  const bool loops = loops_over_grid(schedule, family);
  if (loops) schedule.index = choose_index_width(analysis, launch, why);
  widen_index(schedule, wanted, why);
  if (why != nullptr) explain_launch(schedule, family, loops, machine, wanted, *why);
  return schedule;
}

Reasons cpu_reasons(const Schedule& schedule, const Work& work) {
  return {fmt::format("{}: {}", print_grain(schedule),
                      schedule.grain == Schedule{}.grain ? "for fewer elements a second thread does not pay"
                                                         : "set by an override"),
          fmt::format("{} work items, at least {} for a thread", work.items, work.grain)};
}

std::int64_t reduction_parts(const Launch& launch, const Schedule& schedule) {
  return schedule.part == 0 ? 1 : at_least_one(base::ceil_div(inner_length(launch), schedule.part));
}

LaunchMemory launch_memory(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  // The launches of a group share memory, so that each begins at a multiple of what any state is aligned to.
  constexpr std::int64_t alignment = 16;
  const bool column = analysis.kernel.family == Family::column;
  if (schedule.rows > 0) return column ? inner_outer_memory(analysis, launch, schedule) : LaunchMemory();
  if (schedule.meets > 0)
    return {16 * reduction_parts(launch, schedule) * point_count(launch) * slots_of_states(analysis),
            point_count(launch)};
  if (schedule.part > 0) {
    return {base::round_up(reduction_parts(launch, schedule) * point_count(launch) * state_bytes_of_groups(analysis),
                           alignment),
            column ? tiles_of_line(launch, schedule) * line_count(launch) : point_count(launch)};
  }
  if (analysis.kernel.family == Family::split) {
    return {
        at_least_one(gpu_items(analysis, launch, schedule)) * static_cast<std::int64_t>(split_state_bytes(analysis)),
        0};
  }
  return {};
}

std::string print_grain(const Schedule& schedule) { return fmt::format("grain={}", schedule.grain); }

std::string print_launch(const Schedule& schedule) {
  return fmt::format("threads={} blocks={}", schedule.threads, schedule.blocks);
}

std::string print(const Schedule& schedule, Family family) {
  if (family == Family::column && schedule.rows > 0) {
    return fmt::format("threads={} rows={}{} index={}", schedule.threads, schedule.rows,
                       schedule.vector > 1 ? " aligned" : "", name_of(schedule.index));
  }
  if (family == Family::row && schedule.packs > 0 && schedule.part == 0) {
    return fmt::format("threads={}{} lanes={} warps={} packs={} held={}{}{}{} index={}", schedule.threads,
                       schedule.rows > 0 ? fmt::format(" rows={}", schedule.rows) : "", schedule.lanes, schedule.warps,
                       schedule.packs, schedule.held,
                       schedule.staged > 0 ? fmt::format(" staged={}", schedule.staged) : "",
                       schedule.vector > 1 ? " aligned" : "",
                       schedule.full    ? " full"
                       : schedule.whole ? " whole"
                                        : "",
                       name_of(schedule.index));
  }
  if ((family == Family::split || family == Family::row) && schedule.part > 0) {
    return fmt::format(
        "threads={} part={}{}{}{} index={}", schedule.threads, schedule.part,
        schedule.meets > 0
            ? fmt::format(" meets={} together={} held={}{}", schedule.meets, schedule.together, schedule.held,
                          schedule.staged > 0 ? fmt::format(" staged={}", schedule.staged) : "")
            : "",
        schedule.vector > 1 ? " aligned" : "",
        schedule.full    ? " full"
        : schedule.whole ? " whole"
                         : "",
        name_of(schedule.index));
  }
  if (family == Family::column && schedule.run > 0) {
    return fmt::format("threads={} across={} vector={} run={}{} index={}", schedule.threads, schedule.across,
                       schedule.vector, schedule.run, schedule.part > 0 ? fmt::format(" part={}", schedule.part) : "",
                       name_of(schedule.index));
  }
  if (family == Family::pointwise && schedule.side > 0) {
    return fmt::format("threads={} side={} vector={} turned={} lanes={} items={} loads={} index={}", schedule.threads,
                       schedule.side, schedule.vector, schedule.turned, schedule.lanes, schedule.items, schedule.loads,
                       name_of(schedule.index));
  }
  if (family != Family::pointwise) return fmt::format("{} index={}", print_launch(schedule), name_of(schedule.index));
  return fmt::format("threads={} vector={} items={} across={}{} index={}", schedule.threads, schedule.vector,
                     schedule.items, schedule.across, schedule.down ? " down" : "", name_of(schedule.index));
}

}  // namespace croton::codegen
