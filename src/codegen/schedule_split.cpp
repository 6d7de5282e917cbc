#include "codegen/schedule_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "base/counted.hpp"
#include "base/rounding.hpp"
#include "codegen/cost_model.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_row.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t pack = ct::lane_accumulators;
// Parts for each multiprocessor: the blocks that it runs at once, twice.
constexpr std::int64_t parts_of_processor = 8;
// For the states of the blocks of a part.
constexpr std::int64_t most_shared_bytes = 16 * 1024;

/// The work of a launch with parts of that many blocks of the tree.
LaunchWork work_of(const Analysis& analysis, const Launch& launch, std::int64_t of_part, int threads) {
  const std::int64_t states = state_bytes_of_groups(analysis), length = inner_length(launch),
                     lines = point_count(launch);
  const std::int64_t blocks = base::ceil_div(length, ct::block_elements);
  const std::int64_t parts = base::ceil_div(blocks, of_part);
  std::int64_t in_bytes = 0;
  bool stores = false;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    const Access& access = analysis.accesses[a];
    if (!access.affine || !launch.variant.moves_inside(a)) continue;
    stores = stores || access.written;
    if (!access.written) in_bytes += pack * static_cast<std::int64_t>(size_of(analysis.operand_of(a).dtype));
  }
  constexpr std::int64_t packs_of_block = ct::block_elements / (ct::lanes * pack);
  const std::int64_t at_once = packs_at_once(in_bytes, stores, packs_of_block);
  LaunchWork work;
  work.bytes = bytes_of_operands(analysis, launch) + 2 * static_cast<double>(lines * parts * states);
  work.instructions = instructions_of_element(analysis) * static_cast<double>(length) * static_cast<double>(lines);
  work.blocks = std::max<std::int64_t>(1, lines * parts);
  work.block = {threads, registers_of_thread(at_once * in_bytes, threads), of_part * states};
  const std::int64_t of_warp = base::ceil_div(std::min(of_part, blocks), threads / ct::lanes);
  work.waits = static_cast<double>(of_warp * (packs_of_block / at_once));
  work.joins = 1;
  work.publishes = true;
  work.last_waits = static_cast<double>(base::ceil_div<std::int64_t>(parts, threads));
  return work;
}

}  // namespace

bool can_fold(const Analysis& analysis, const Launch& launch) {
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    const Access& access = analysis.accesses[a];
    if (!access.affine) return false;
    if (!launch.variant.moves_inside(a)) continue;
    const bool is_scattered = access.written && launch.variant.strides[a].back() != StrideClass::unit;
    if (is_scattered || analysis.is_conditional(a)) return false;
  }
  const kernel::Kernel& kernel = analysis.kernel;
  for (std::size_t k = 0; k < kernel.axes.size(); ++k) {
    if (kernel.axes[k].inner && analysis.explicit_axes[k]) return false;
  }
  return std::ranges::none_of(kernel.checks, [&](const kernel::Check& check) {
    return analysis.inner[check.condition] || analysis.inner[check.value];
  });
}

bool lines_are_packs(const Launch& launch) {
  return launch.variant.inner.size() == 1 || launch.sizes.back() % pack == 0;
}

std::string alignment_reason(const PackedAccesses& packed, const Schedule& schedule, const Launch& launch,
                             const Machine& machine) {
  return lines_are_packs(launch)
             ? packed.alignment_reason(schedule.vector > 1, machine, pack)
             : fmt::format("not aligned: lines of {} elements are no whole packs", launch.sizes.back());
}

IndexWidth row_index_width(const Analysis& analysis, const Launch& launch, std::int64_t reach, Reasons* why) {
  const std::size_t fast = launch.sizes.size() - 1;
  if (launch.variant.inner.size() == 1) return choose_index_width(analysis, launch, fast, reach, why);
  const IndexWidth width = choose_index_width(analysis, launch, fast, pack, why);
  const bool fits = inner_length(launch) <= std::numeric_limits<std::int32_t>::max() - reach;
  if (width == IndexWidth::narrow && fits) return width;
  if (why != nullptr) why->back() = "index=wide: positions of elements, or offsets, reach 2^31";
  return IndexWidth::wide;
}

std::int64_t least_part(const Schedule& schedule) { return schedule.threads / ct::lanes * ct::block_elements; }

void add_parts(Candidates& candidates, Schedule schedule, const Analysis& analysis, const Launch& launch,
               const Machine& machine, std::optional<std::int64_t> wanted) {
  const std::int64_t blocks = base::ceil_div(inner_length(launch), ct::block_elements);
  const std::int64_t warps = schedule.threads / ct::lanes, lines = point_count(launch);
  const std::int64_t most = std::max(warps, most_shared_bytes / state_bytes_of_groups(analysis));
  const std::int64_t in_all = parts_of_processor * machine.multiprocessors;
  std::int64_t of_part = warps;
  while (2 * of_part <= most &&
         base::ceil_div(in_all, std::max<std::int64_t>(1, lines)) < base::ceil_div(blocks, of_part))
    of_part *= 2;
  schedule.lanes = ct::lanes;
  schedule.warps = static_cast<int>(warps);
  schedule.packs = ct::block_elements / (ct::lanes * pack);
  const auto is_possible = [&](std::int64_t some) {
    return some >= warps && some <= most && base::ceil_div(blocks, some) <= ct::most_split_parts;
  };
  std::vector<std::int64_t> sizes{of_part, 2 * of_part, of_part / 2, of_part / 4};
  if (wanted && is_possible(*wanted / ct::block_elements)) sizes = {*wanted / ct::block_elements};
  for (const std::int64_t some : sizes) {
    if (!is_possible(some)) continue;
    schedule.part = some * ct::block_elements;
    schedule.row_blocks = static_cast<int>(some);
    candidates.add(schedule, work_of(analysis, launch, some, schedule.threads));
  }
}

void fit_split(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               std::optional<std::int64_t> wanted_part, Reasons* why) {
  const std::size_t axes = launch.variant.inner.size();
  if (axes == 0 || (axes > 1 && !can_fold(analysis, launch))) {
    if (why != nullptr)
      why->push_back(axes == 0 ? "two launches: there is one element"
                               : "two launches: the elements are on several axes, and more than addresses depends on "
                                 "their positions");
    return;
  }
  const std::int64_t length = inner_length(launch);
  schedule.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(schedule.threads)));
  Candidates candidates(machine);
  add_parts(candidates, schedule, analysis, launch, machine, wanted_part);
  if (candidates.empty()) {
    if (why != nullptr) why->push_back(fmt::format("two launches: {} elements are too many parts", length));
    return;
  }
  schedule = candidates.best();
  const PackedAccesses packed(analysis, launch, axes - 1);
  const bool in_packs = lines_are_packs(launch);
  schedule.vector = in_packs && machine.aligned && packed.is_aligned_in_packs(pack) ? pack : 1;
  // Of a few elements the conditions cost nothing, and another text would.
  schedule.whole = in_packs && (axes > 1 || (length >= ct::block_elements && length % pack == 0));
  schedule.full = length > 0 && length % ct::block_elements == 0;
  schedule.is_short = is_short_row(analysis);
  schedule.index = row_index_width(analysis, launch, schedule.part, why);
  if (why == nullptr) return;
  why->push_back(fmt::format("part={}: {} (of at least {} elements) for {} multiprocessors{}", schedule.part,
                             base::counted(reduction_parts(launch, schedule), "part"), least_part(schedule),
                             machine.multiprocessors,
                             candidates.comparison([](const Schedule& s) { return fmt::format("part={}", s.part); })));
  why->push_back(alignment_reason(packed, schedule, launch, machine));
  if (schedule.full)
    why->push_back(fmt::format("full: {} is a multiple of {}", length, ct::block_elements));
  else if (schedule.whole)
    why->push_back(fmt::format("whole: {} is a multiple of {}", launch.sizes.back(), pack));
}

}  // namespace croton::codegen
