#include "codegen/schedule_column.hpp"

#include <algorithm>
#include <bit>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "kernel/kernel.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t widest_pack = 4;
// Chunks of a thread: their counter stays in registers.
constexpr std::int64_t most_run = 64;
// Of the 48 KiB that every launch has.
constexpr std::int64_t most_shared_bytes = 47 * 1024;

/// The number of inner elements of a point.
std::int64_t inner_length(const Launch& launch) {
  std::int64_t length = 1;
  for (std::size_t m = launch.variant.parallel.size(); m < launch.sizes.size(); ++m) length *= launch.sizes[m];
  return length;
}

/// A column kernel with numbers.
class ColumnFit {
 public:
  ColumnFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        fast_(launch.variant.parallel.size() - 1),
        packed_(analysis, launch, fast_) {}

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
    const std::int64_t below = schedule_.threads / schedule_.across;
    const std::int64_t length = inner_length(launch_);
    const std::int64_t chunks = std::max<std::int64_t>(1, base::ceil_div(length, ct::chunk_elements));
    const std::int64_t blocks = std::max<std::int64_t>(1, tiles_of_line(launch_, schedule_) * line_count(launch_));
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine.multiprocessors};
    const auto pow2 = [](std::int64_t n) {
      return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    };
    std::int64_t run = pow2(base::ceil_div(chunks, below));
    if (can_split() && (run > most_run || (blocks < wanted_blocks && run > 1))) {
      const std::int64_t parts =
          std::clamp<std::int64_t>(base::ceil_div(wanted_blocks, blocks), 1, ct::most_column_parts);
      std::int64_t smaller = std::min(pow2(std::max<std::int64_t>(1, base::ceil_div(chunks, below * parts))), most_run);
      while (base::ceil_div(chunks, below * smaller) > ct::most_column_parts && smaller < most_run) smaller *= 2;
      if (base::ceil_div(chunks, below * smaller) > ct::most_column_parts) return;
      schedule_.split = base::ceil_div(chunks, below * smaller) > 1;
      run = smaller;
    }
    if (run > most_run) return;  // a thread for each point
    schedule_.run = static_cast<int>(run);
    const std::int64_t columns = std::int64_t{schedule_.across} * schedule_.vector;
    schedule_.index = choose_index_width(analysis_, launch_, fast_, columns);
  }

 private:
  /// At most so many bytes of shared memory: each reduction has the states of a block, and those of parts as many
  /// again.
  std::int64_t shared_bytes(std::int64_t vector) const {
    std::int64_t bytes = 0;
    for (const kernel::Stage& stage : analysis_.kernel.stages) {
      const bool placed = stage.op->reduce->combiner.starts_with("Arg");  // a value and its position
      bytes += placed
                   ? 16
                   : static_cast<std::int64_t>(size_of(compute_dtype(analysis_.kernel.body.type(stage.value).dtype)));
    }
    return 2 * bytes * vector * schedule_.threads;
  }

  /// Whether nothing but the results of points depends on a whole reduction.
  bool can_split() const {
    const kernel::Kernel& kernel = analysis_.kernel;
    const std::vector<std::size_t> stage = kernel::stage_of(kernel);
    for (const kernel::Stage& s : kernel.stages) {
      if (stage[s.value] != 0) return false;
    }
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
};

}  // namespace

std::int64_t column_parts(const Launch& launch, const Schedule& schedule) {
  if (!schedule.split) return 1;
  const std::int64_t part = std::int64_t{schedule.threads / schedule.across} * schedule.run * ct::chunk_elements;
  return std::max<std::int64_t>(1, base::ceil_div(inner_length(launch), part));
}

void fit_column(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                const Overrides& wanted) {
  ColumnFit(schedule, analysis, launch).run(machine, wanted);
}

}  // namespace croton::codegen
