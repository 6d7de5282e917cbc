#include "codegen/schedule_row.hpp"

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t pack = 4;  // the accumulators of a lane in the tree of combine.cuh
// Registers of a thread for the row: of the 64 that it has if half of the threads of a multiprocessor are resident,
// others are for addresses and values.
constexpr std::int64_t most_held_registers = 40;
// A row whose blocks' states fit into 8 KiB of shared memory or a little more.
constexpr std::int64_t most_blocks = 1024;

/// A row kernel with numbers.
class RowFit {
 public:
  RowFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        inner_(launch.sizes.size() - 1),
        length_(launch.sizes.back()),
        packed_(analysis, launch, inner_) {}

  void run(const Machine& machine, const Overrides& wanted) {
    if (launch_.variant.inner.size() != 1 || length_ > most_blocks * ct::block_elements) return;
    const auto packs = static_cast<unsigned>(std::max<std::int64_t>(1, base::ceil_div(length_, pack)));
    schedule_.lanes = static_cast<int>(std::min<unsigned>(std::bit_ceil(packs), ct::lanes));
    const auto of_lane = static_cast<unsigned>(base::ceil_div<std::int64_t>(packs, schedule_.lanes));
    schedule_.packs = static_cast<int>(std::min(std::bit_ceil(of_lane), 8u));
    schedule_.warps = 1;
    const std::int64_t blocks = base::ceil_div(length_, ct::block_elements);
    if (blocks > 1) fit_warps(blocks, machine);
    schedule_.held = held_registers() <= most_held_registers &&
                     std::int64_t{schedule_.packs} * pack * schedule_.lanes * schedule_.warps >= length_;
    if (!schedule_.held) schedule_.packs = std::min(schedule_.packs, 8);
    schedule_.row_blocks = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max<std::int64_t>(1, blocks))));
    if (schedule_.warps == 1) {
      schedule_.threads = wanted.threads.value_or(machine.threads);
      while (schedule_.threads % schedule_.lanes != 0) --schedule_.threads;
    }
    schedule_.vector = machine.aligned && is_aligned() ? pack : 1;
    schedule_.whole = length_ % pack == 0;
    schedule_.index = choose_index_width(analysis_, launch_, inner_,
                                         std::max<std::int64_t>(length_, ct::block_elements * schedule_.warps));
  }

 private:
  void fit_warps(std::int64_t blocks, const Machine& machine) {
    const auto most = static_cast<unsigned>(machine.most_threads / static_cast<int>(ct::lanes));
    schedule_.warps = static_cast<int>(std::min(std::bit_ceil(static_cast<unsigned>(blocks)), most));
    schedule_.threads = schedule_.warps * static_cast<int>(ct::lanes);
    const auto of_warp = static_cast<unsigned>(base::ceil_div<std::int64_t>(blocks, schedule_.warps));
    schedule_.packs = 8 * static_cast<int>(std::bit_ceil(of_warp));
  }

  bool moves_in_row(std::size_t a) const {
    return analysis_.accesses[a].affine && launch_.variant.strides[a][inner_] != StrideClass::none;
  }
  /// The registers that hold the row's elements of a thread.
  std::int64_t held_registers() const {
    std::int64_t bytes = 0;
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (!analysis_.accesses[a].written && moves_in_row(a)) bytes += packed_.item_size(a);
    }
    return base::ceil_div<std::int64_t>(schedule_.packs * pack * bytes, 4);
  }

  bool is_aligned() const {
    return std::ranges::all_of(packed_.packed(), [&](std::size_t a) {
      return packed_.is_aligned(a, std::min(pack, widest_access_bytes / packed_.item_size(a)));
    });
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t inner_;
  std::int64_t length_;
  PackedAccesses packed_;
};

}  // namespace

void fit_row(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
             const Overrides& wanted) {
  RowFit(schedule, analysis, launch).run(machine, wanted);
}

}  // namespace croton::codegen
