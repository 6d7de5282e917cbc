#include "codegen/schedule_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
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

}  // namespace

void fit_split(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               Reasons* why) {
  if (launch.variant.inner.size() != 1) {
    if (why != nullptr) why->push_back("two launches: the elements are on several axes, or there is one");
    return;
  }
  const std::int64_t blocks = base::ceil_div(launch.sizes[0], ct::block_elements);
  schedule.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(schedule.threads)));
  const std::int64_t warps = schedule.threads / ct::lanes;
  const std::int64_t most = std::max(warps, most_shared_bytes / state_bytes_of_groups(analysis));
  std::int64_t of_part = warps;
  const std::int64_t wanted = parts_of_processor * machine.multiprocessors;
  while (2 * of_part <= most && base::ceil_div(blocks, of_part) > wanted) of_part *= 2;
  if (base::ceil_div(blocks, of_part) > ct::most_split_parts) {
    if (why != nullptr) why->push_back(fmt::format("two launches: {} elements are too many parts", launch.sizes[0]));
    return;
  }
  const PackedAccesses packed(analysis, launch, 0);
  schedule.lanes = ct::lanes;
  schedule.warps = static_cast<int>(warps);
  schedule.packs = ct::block_elements / (ct::lanes * pack);
  schedule.row_blocks = static_cast<int>(of_part);
  schedule.part = of_part * ct::block_elements;
  schedule.vector = machine.aligned && packed.is_aligned_in_packs(pack) ? pack : 1;
  // Of a few elements the conditions cost nothing, and another text would.
  schedule.whole = launch.sizes[0] >= ct::block_elements && launch.sizes[0] % pack == 0;
  schedule.full = launch.sizes[0] > 0 && launch.sizes[0] % ct::block_elements == 0;
  schedule.is_short = is_short_row(analysis);
  schedule.index = choose_index_width(analysis, launch, 0, schedule.part, why);
  if (why == nullptr) return;
  why->push_back(fmt::format("part={}: {} parts, of at least {} elements, for {} multiprocessors", schedule.part,
                             reduction_parts(launch, schedule), warps * ct::block_elements, machine.multiprocessors));
  why->push_back(packed.alignment_reason(schedule.vector > 1, machine, pack));
  if (schedule.full)
    why->push_back(fmt::format("full: {} is a multiple of {}", launch.sizes[0], ct::block_elements));
  else if (schedule.whole)
    why->push_back(fmt::format("whole: {} is a multiple of {}", launch.sizes[0], pack));
}

}  // namespace croton::codegen
