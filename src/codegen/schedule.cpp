#include "codegen/schedule.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/rounding.hpp"
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
constexpr Family families[] = {Family::pointwise, Family::row, Family::column, Family::split, Family::contract};

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

std::int64_t gpu_items(const Analysis& analysis, const Launch& launch) {
  if (launch.variant.tiled()) return tile_count(launch, ct::gpu_tile_side);
  return analysis.kernel.family == Family::split ? base::ceil_div(inner_count(launch), ct::part_elements)
                                                 : point_count(launch);
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

int gpu_blocks(const Analysis& analysis, const Variant& variant, std::int64_t items, const Schedule& schedule) {
  if (variant.tiled()) return tile_blocks(items, schedule);
  const Family family = analysis.kernel.family;
  if (family == Family::contract)
    return tile_blocks(
        base::ceil_div(items, std::int64_t{ct::gpu_contract_rows(schedule.threads)} * ct::gpu_contract_columns),
        schedule);
  const bool warps = family == Family::row || family == Family::split;
  return warps ? tile_blocks(base::ceil_div(items, schedule.threads / ct::lanes), schedule)
               : thread_blocks(items, schedule);
}

namespace {

/// Whether a text can be the beginning of a kernel's digest, or of its name: a family, _ and the digest.
bool is_kernel_prefix(std::string_view text) {
  const std::size_t mark = text.find('_');
  if (mark != text.npos) {
    const std::string_view family = text.substr(0, mark);
    if (family != "group" && family != "loop" &&
        std::ranges::find(families, family, kernel::name_of) == std::end(families))
      return false;
    text.remove_prefix(mark + 1);
  } else if (text.size() < 4) {
    return false;
  }
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Whether the prefix of a key selects this kernel.
bool selects(std::string_view text, Family family, std::string_view kernel_name) {
  if (text == kernel::name_of(family)) return true;
  if (!is_kernel_prefix(text)) return false;
  return kernel_name.starts_with(text) || kernel_name.substr(kernel_name.find('_') + 1).starts_with(text);
}

}  // namespace

Schedule choose_schedule(Family family, std::string_view overrides, std::string_view kernel_name) {
  Schedule schedule;
  bool more = !overrides.empty();
  while (more) {
    const std::string_view item = overrides.substr(0, overrides.find('+'));
    more = item.size() < overrides.size();
    overrides.remove_prefix(item.size() + (more ? 1 : 0));
    const auto refuse = [&](std::string_view why) {
      throw ValueError(fmt::format(
          "schedule={}: {}; write grain=N, threads=N, blocks=N or meeting=N, with a family in front where it is for "
          "one only (pointwise, row, column, split, contract), such as row.threads=128, or the beginning of a kernel's "
          "name or digest, such as row_1a2b3c.threads=128",
          item, why));
    };
    const std::size_t equals = item.find('='), dot = item.find('.');
    if (equals == std::string_view::npos) refuse("there is no '='");
    bool applies = true;
    std::string_view key = item.substr(0, equals);
    if (dot < equals) {
      const std::string_view name = key.substr(0, dot);
      key.remove_prefix(dot + 1);
      if (std::ranges::find(families, name, kernel::name_of) == std::end(families) && !is_kernel_prefix(name))
        refuse(fmt::format("there is no family '{}', and no kernel can have that name", name));
      applies = selects(name, family, kernel_name);
    }
    const std::string_view digits = item.substr(equals + 1);
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 1)
      refuse("the number must be 1 or more");
    if (key == "threads" && (number % ct::lanes != 0 || number > ct::most_threads))
      refuse("threads come in whole warps: 32, 64, ... 1024");
    if (key != "grain" && key != "threads" && key != "blocks" && key != "meeting")
      refuse(fmt::format("there is no '{}'", key));
    if (!applies) continue;
    if (key == "grain") schedule.grain = number;
    if (key == "threads") schedule.threads = number;
    if (key == "blocks") schedule.blocks = number;
    if (key == "meeting") schedule.meeting = number;
  }
  return schedule;
}

std::string print(const Schedule& schedule) {
  return fmt::format("grain={} threads={} blocks={}", schedule.grain, schedule.threads, schedule.blocks);
}

}  // namespace croton::codegen
