#include "codegen/schedule_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "kernel/kernel.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t widest_pack = 4;
// Chunks of a thread: their counter stays in registers, of which it has fewer if the run is short.
constexpr std::int64_t most_run = 64, good_run = 4;
// Of neighbouring elements that a block reads at once: a sector of memory.
constexpr std::int64_t least_row_bytes = 32;
// Of the 48 KiB that every launch has.
constexpr std::int64_t most_shared_bytes = 47 * 1024;

/// A column kernel with numbers.
class ColumnFit {
 public:
  ColumnFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        fast_(launch.variant.parallel.size() - 1),
        packed_(analysis, launch, fast_),
        splits_(can_split()),
        // Each group of reductions has the states of a block, and those of parts as many again.
        state_bytes_((splits_ ? 2 : 1) * state_bytes_of_groups(analysis)) {}

  void run(const Machine& machine, const Overrides& wanted) {
    std::int64_t vector =
        std::min<std::int64_t>(wanted.vector.value_or(widest_pack), widest_access_bytes / packed_.widest());
    while (vector > 1 && !(machine.aligned && packed_.is_aligned(vector))) vector /= 2;
    while (vector > 1 && shared_bytes(vector) > most_shared_bytes) vector /= 2;
    if (shared_bytes(vector) > most_shared_bytes) return;
    schedule_.vector = static_cast<int>(vector);
    const std::int64_t packs = std::clamp<std::int64_t>(base::ceil_div(launch_.sizes[fast_], vector), 1, ct::lanes);
    schedule_.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(schedule_.threads)));
    schedule_.across = static_cast<int>(std::bit_ceil(static_cast<unsigned>(packs)));
    schedule_.items = 1;
    schedule_.down = false;
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine.multiprocessors};
    while (!splits_ && blocks() < wanted_blocks && row_bytes() > least_row_bytes) schedule_.across /= 2;
    const std::int64_t below = schedule_.threads / schedule_.across;
    const std::int64_t chunks = std::max<std::int64_t>(1, base::ceil_div(inner_length(launch_), ct::chunk_elements));
    std::int64_t run = power_of_two(base::ceil_div(chunks, below));
    if (splits_ && run > 1 && (run > good_run || blocks() < wanted_blocks)) {
      const std::int64_t parts = base::ceil_div(wanted_blocks, blocks());
      run = std::min(power_of_two(std::max<std::int64_t>(1, base::ceil_div(chunks, below * parts))), good_run);
      while (base::ceil_div(chunks, below * run) > ct::most_column_parts && run < most_run) run *= 2;
      if (base::ceil_div(chunks, below * run) > ct::most_column_parts) return;
      if (base::ceil_div(chunks, below * run) > 1) schedule_.part = below * run * ct::chunk_elements;
    }
    if (run > most_run) return;  // a thread for each point
    schedule_.run = static_cast<int>(run);
    const std::int64_t columns = std::int64_t{schedule_.across} * schedule_.vector;
    schedule_.index = choose_index_width(analysis_, launch_, fast_, columns);
  }

  /// The reasons of what run() chose.
  void explain(const Machine& machine, const Overrides& wanted, Reasons& why) const {
    if (schedule_.run == 0) {
      why.push_back("run=0, a thread for each point: states do not fit into shared memory, or columns are too long");
      return;
    }
    why.push_back(fmt::format("vector={}: {}", schedule_.vector, why_vector(machine, wanted)));
    const std::int64_t packs = base::ceil_div<std::int64_t>(launch_.sizes[fast_], schedule_.vector);
    why.push_back(fmt::format("across={}: a line of {} elements has {} packs{}", schedule_.across, launch_.sizes[fast_],
                              packs,
                              schedule_.across >= std::min<std::int64_t>(packs, ct::lanes)
                                  ? ""
                                  : ", and columns that cannot be split give more blocks so"));
    why.push_back(fmt::format("run={}: {} threads below each other share the chunks of {} rows of a column of {}",
                              schedule_.run, schedule_.threads / schedule_.across, ct::chunk_elements,
                              inner_length(launch_)));
    why.push_back(why_split(machine));
    choose_index_width(analysis_, launch_, fast_, std::int64_t{schedule_.across} * schedule_.vector, &why);
  }

 private:
  static std::int64_t power_of_two(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  }
  /// Blocks that have whole columns.
  std::int64_t blocks() const {
    return std::max<std::int64_t>(1, tiles_of_line(launch_, schedule_) * line_count(launch_));
  }
  std::int64_t row_bytes() const { return std::int64_t{schedule_.across} * schedule_.vector * packed_.widest(); }

  std::string why_split(const Machine& machine) const {
    const std::int64_t blocks = this->blocks();
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine.multiprocessors};
    const std::string count =
        fmt::format("whole columns give {} block{}, {} {}, two for each multiprocessor", blocks, blocks == 1 ? "" : "s",
                    blocks < wanted_blocks ? "fewer than" : "at least", wanted_blocks);
    if (schedule_.part > 0)
      return fmt::format("part={}, of {} parts: {}", schedule_.part, reduction_parts(launch_, schedule_),
                         blocks < wanted_blocks ? count : fmt::format("a thread has {} chunks", good_run));
    if (!splits_) return "not split: more than the results depends on the whole reduction";
    return "not split: " + (blocks < wanted_blocks ? "each thread has one chunk" : count);
  }

  std::string why_vector(const Machine& machine, const Overrides& wanted) const {
    const std::int64_t full = widest_access_bytes / packed_.widest();
    const std::int64_t most = std::min<std::int64_t>(wanted.vector.value_or(widest_pack), full);
    if (schedule_.vector == most)
      return wanted.vector == schedule_.vector
                 ? "set by an override"
                 : fmt::format("at most {} elements and {} bytes; all packs of operands are aligned", widest_pack,
                               widest_access_bytes);
    if (!machine.aligned) return "operands may begin anywhere";
    const std::string unaligned = packed_.why_not_aligned(schedule_.vector * 2);
    return unaligned.empty() ? "the states of wider packs do not fit into shared memory" : unaligned;
  }

  std::int64_t shared_bytes(std::int64_t vector) const { return state_bytes_ * vector * schedule_.threads; }

  /// Whether nothing but the results of points depends on a whole reduction.
  bool can_split() const {
    const kernel::Kernel& kernel = analysis_.kernel;
    if (kernel::stage_groups(kernel).size() > 1) return false;
    for (const kernel::Store& store : kernel.stores) {
      if (analysis_.inner[store.value] ||
          std::ranges::any_of(store.index, [&](NodeId i) { return analysis_.inner[i]; }))
        return false;
    }
    return std::ranges::none_of(kernel.checks, [&](const kernel::Check& c) {
      return analysis_.inner[c.condition] || analysis_.inner[c.value];
    });
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t fast_;
  PackedAccesses packed_;
  bool splits_;
  std::int64_t state_bytes_;  // for each thread and point of its pack
};

}  // namespace

void fit_column(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                const Overrides& wanted, Reasons* why) {
  ColumnFit fit(schedule, analysis, launch);
  fit.run(machine, wanted);
  if (why != nullptr) fit.explain(machine, wanted, *why);
}

}  // namespace croton::codegen
