#include "codegen/schedule.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "codegen/emit.hpp"
#include "codegen/schedule_column.hpp"
#include "codegen/schedule_overrides.hpp"
#include "codegen/schedule_pointwise.hpp"
#include "codegen/schedule_row.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

using kernel::Family;

std::int64_t product(const Launch& launch, std::size_t first, std::size_t last) {
  std::int64_t total = 1;
  for (std::size_t m = first; m < last; ++m) total *= launch.sizes[m];
  return total;
}
std::int64_t inner_count(const Launch& launch) {
  return product(launch, launch.variant.parallel.size(), launch.sizes.size());
}

std::int64_t at_least_one(std::int64_t n) { return std::max<std::int64_t>(1, n); }

}  // namespace

std::int64_t point_count(const Launch& launch) { return product(launch, 0, launch.variant.parallel.size()); }

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

/// The number of points of a contraction along one of its sides.
std::int64_t side_count(const Analysis& analysis, const Launch& launch, kernel::Side side) {
  std::int64_t total = 1;
  for (const std::size_t m : axes_of_side(analysis, launch.variant, side)) total *= launch.sizes[m];
  return total;
}

Work contract_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  const std::int64_t rows = side_count(analysis, launch, kernel::Side::rows),
                     columns = side_count(analysis, launch, kernel::Side::columns),
                     others = side_count(analysis, launch, kernel::Side::both) *
                              base::ceil_div(columns, ct::cpu_contract_columns);
  const std::int64_t block = ct::cpu_contract_block_rows(rows, others);
  // A multiplication takes about a thirtieth of the time of an element in other families.
  const std::int64_t cost =
      block * std::min<std::int64_t>(columns, ct::cpu_contract_columns) / 32 * at_least_one(inner_count(launch));
  return {others * base::ceil_div(rows, block), at_least_one(schedule.grain / at_least_one(cost))};
}

}  // namespace

Work cpu_work(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  const std::int64_t points = point_count(launch), length = inner_count(launch);
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
  if (launch.variant.tiled()) return tile_count(launch, ct::gpu_tile_side);
  switch (analysis.kernel.family) {
    case Family::pointwise: {
      const std::int64_t below = schedule.threads / schedule.across * (schedule.down ? schedule.items : 1);
      return tiles_of_line(launch, schedule) * base::ceil_div(line_count(launch), below);
    }
    case Family::split:
      return base::ceil_div(inner_count(launch), ct::part_elements);
    case Family::column:
      if (schedule.run > 0)
        return tiles_of_line(launch, schedule) * line_count(launch) * column_parts(launch, schedule);
      break;
    case Family::row:
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

std::int64_t gpu_blocks(const Analysis& analysis, const Variant& variant, std::int64_t items,
                        const Schedule& schedule) {
  if (variant.tiled()) return tile_blocks(items, schedule);
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
      break;
  }
  return tile_blocks(base::ceil_div(items, schedule.threads / ct::lanes), schedule);
}

Schedule choose_schedule(Family family, const Machine& machine, std::string_view overrides,
                         std::string_view kernel_name) {
  const Overrides wanted = read_overrides(overrides, family, kernel_name);
  Schedule schedule;
  schedule.grain = wanted.grain.value_or(schedule.grain);
  schedule.threads = wanted.threads.value_or(family == Family::pointwise ? machine.pointwise_threads : machine.threads);
  schedule.blocks = wanted.blocks.value_or(machine.blocks);
  schedule.meeting = wanted.meeting.value_or(schedule.meeting);
  schedule.across = schedule.threads;
  return schedule;
}

Schedule choose_schedule(const Analysis& analysis, const Launch& launch, const Machine& machine,
                         std::string_view overrides, std::string_view group_name) {
  const Family family = analysis.kernel.family;
  const std::string kernel_name = !group_name.empty()        ? std::string(group_name)
                                  : names_kernels(overrides) ? codegen::kernel_name(analysis, launch.variant)
                                                             : "";
  Schedule schedule = choose_schedule(family, machine, overrides, kernel_name);
  const Overrides wanted = read_overrides(overrides, family, kernel_name);
  if (family == Family::pointwise && !launch.variant.tiled())
    fit_pointwise(schedule, analysis, launch, machine, wanted);
  if (family == Family::row) fit_row(schedule, analysis, launch, machine, wanted);
  if (family == Family::column) fit_column(schedule, analysis, launch, machine, wanted);
  return schedule;
}

LaunchMemory launch_memory(const Analysis& analysis, const Launch& launch, const Schedule& schedule) {
  const auto states = static_cast<std::int64_t>(split_state_bytes(analysis));
  if (analysis.kernel.family == Family::split)
    return {std::max<std::int64_t>(1, gpu_items(analysis, launch, schedule)) * states, 0};
  if (!schedule.split) return {};
  return {column_parts(launch, schedule) * point_count(launch) * states,
          tiles_of_line(launch, schedule) * line_count(launch)};
}

namespace {

std::string_view name_of(IndexWidth width) {
  return width == IndexWidth::narrow ? "narrow" : width == IndexWidth::based ? "based" : "wide";
}

}  // namespace

std::string print(const Schedule& schedule, Family family) {
  if (family == Family::row && schedule.packs > 0) {
    return fmt::format("grain={} threads={} lanes={} warps={} packs={}{}{}{} index={}", schedule.grain,
                       schedule.threads, schedule.lanes, schedule.warps, schedule.packs, schedule.held ? " held" : "",
                       schedule.vector > 1 ? " aligned" : "", schedule.whole ? " whole" : "", name_of(schedule.index));
  }
  if (family == Family::column && schedule.run > 0) {
    return fmt::format("grain={} threads={} across={} vector={} run={}{} index={}", schedule.grain, schedule.threads,
                       schedule.across, schedule.vector, schedule.run, schedule.split ? " split" : "",
                       name_of(schedule.index));
  }
  if (family != Family::pointwise)
    return fmt::format("grain={} threads={} blocks={}", schedule.grain, schedule.threads, schedule.blocks);
  return fmt::format("grain={} threads={} vector={} items={} across={}{} index={}", schedule.grain, schedule.threads,
                     schedule.vector, schedule.items, schedule.across, schedule.down ? " down" : "",
                     name_of(schedule.index));
}

}  // namespace croton::codegen
