#include "codegen/schedule_column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/counted.hpp"
#include "base/rounding.hpp"
#include "codegen/cost_model.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "kernel/kernel.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t widest_pack = 4;
// Of blocks that are few, so that memory is busy; two of them are on a multiprocessor.
constexpr int most_threads = 512;
// Chunks of a thread: their counter stays in registers, of which it has fewer if the run is short. Parts have as long
// runs as it takes for there to be no more than most_column_parts.
constexpr std::int64_t longest_run = 1 << 20, most_run = 64, good_run = 4;
// The memory for the states of parts, as a share of the operands'.
constexpr double most_state_share = 0.25;
// Of neighbouring elements that a block reads at once: a sector of memory; a line, where parts give blocks.
constexpr std::int64_t least_row_bytes = 32, least_split_row_bytes = 128;
// Of the 48 KiB that every launch has.
constexpr std::int64_t most_shared_bytes = 47 * 1024;

/// A column kernel with numbers.
class ColumnFit {
 public:
  ColumnFit(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        machine_(machine),
        fast_(launch.variant.parallel.size() - 1),
        packed_(analysis, launch, fast_),
        splits_(only_points_use_reductions(analysis) &&
                (!analysis.stores_elements() || chunks() > machine.threads / ct::lanes)),
        // Each group of reductions has the states of a block, and those of parts as many again.
        state_bytes_((splits_ ? 2 : 1) * state_bytes_of_groups(analysis)),
        candidates_(machine) {}

  void run(const Overrides& wanted) {
    std::int64_t vector =
        std::min<std::int64_t>(wanted.vector.value_or(widest_pack), widest_access_bytes / packed_.widest());
    while (vector > 1 && !(machine_.aligned && packed_.is_aligned(vector))) vector /= 2;
    while (vector > 1 && shared_bytes(vector) > most_shared_bytes) vector /= 2;
    if (shared_bytes(vector) > most_shared_bytes) return;
    schedule_.vector = static_cast<int>(vector);
    const std::int64_t packs = std::clamp<std::int64_t>(base::ceil_div(launch_.sizes[fast_], vector), 1, ct::lanes);
    schedule_.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(schedule_.threads)));
    schedule_.across = static_cast<int>(std::bit_ceil(static_cast<unsigned>(packs)));
    schedule_.items = 1;
    schedule_.down = false;
    measure();
    const std::int64_t least_bytes = splits_ ? least_split_row_bytes : least_row_bytes;
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine_.multiprocessors};
    const int most_across = schedule_.across;
    while (!splits_ && blocks() < wanted_blocks && row_bytes() > least_bytes) schedule_.across /= 2;
    while (!splits_ && !wanted.threads && blocks() < wanted_blocks && schedule_.threads < most_threads &&
           schedule_.threads < schedule_.across * chunks() && 2 * shared_bytes(vector) <= most_shared_bytes)
      schedule_.threads *= 2;
    const int preferred = schedule_.across;
    add_runs();
    for (schedule_.across = most_across; schedule_.across >= 1; schedule_.across /= 2) {
      if (schedule_.across == preferred) continue;
      const bool is_narrow = splits_ ? row_bytes() < least_bytes : schedule_.across < preferred;
      if (schedule_.across < most_across && is_narrow) break;
      add_runs();
    }
    schedule_.across = preferred;
    if (candidates_.empty()) return;  // a thread for each point
    schedule_ = candidates_.best();
    const std::int64_t columns = std::int64_t{schedule_.across} * schedule_.vector;
    schedule_.index = choose_index_width(analysis_, launch_, fast_, columns);
  }

  /// The reasons of what run() chose.
  void explain(const Overrides& wanted, Reasons& why) const {
    if (schedule_.run == 0) {
      why.push_back("run=0, a thread for each point: states do not fit into shared memory, or columns are too long");
      return;
    }
    why.push_back(fmt::format("vector={}: {}", schedule_.vector, why_vector(wanted)));
    const std::int64_t packs = base::ceil_div<std::int64_t>(launch_.sizes[fast_], schedule_.vector);
    why.push_back(fmt::format("across={}: a line of {} elements has {} packs{}", schedule_.across, launch_.sizes[fast_],
                              packs,
                              schedule_.across >= std::min<std::int64_t>(packs, ct::lanes)
                                  ? ""
                                  : ", and with fewer threads on it more are below each other"));
    why.push_back(fmt::format("run={}: {} threads below each other share the chunks of {} rows of a column of {}",
                              schedule_.run, schedule_.threads / schedule_.across, ct::chunk_elements,
                              inner_length(launch_)));
    why.push_back(why_split() + candidates_.comparison([](const Schedule& s) {
      return fmt::format("across={} run={} part={}", s.across, s.run, s.part);
    }));
    choose_index_width(analysis_, launch_, fast_, std::int64_t{schedule_.across} * schedule_.vector, &why);
  }

 private:
  static std::int64_t power_of_two(std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  }
  std::int64_t chunks() const {
    return std::max<std::int64_t>(1, base::ceil_div(inner_length(launch_), ct::chunk_elements));
  }

  /// Adds the candidates with this number of threads across, whole columns and parts; first whole columns if their
  /// counters stay in registers and there are blocks enough, else the parts that give each multiprocessor two blocks.
  void add_runs() {
    const std::int64_t below = schedule_.threads / schedule_.across,
                       all = power_of_two(base::ceil_div(chunks(), below));
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine_.multiprocessors};
    const bool whole = !splits_ || all == 1 || (all <= good_run && blocks() >= wanted_blocks);
    std::int64_t preferred = all;
    if (!whole) {
      const std::int64_t parts = base::ceil_div(wanted_blocks, blocks());
      preferred = std::min(power_of_two(std::max<std::int64_t>(1, base::ceil_div(chunks(), below * parts))), good_run);
      while (base::ceil_div(chunks(), below * preferred) > ct::most_column_parts && preferred < longest_run)
        preferred *= 2;
    }
    add(preferred);
    for (std::int64_t run = std::min(all, most_run); splits_ && run >= 1; run /= 2) {
      if (run != preferred && (run == all || run == most_run || run <= good_run)) add(run);
    }
  }

  /// Adds the candidate with that many chunks of a thread, if it is one.
  void add(std::int64_t run) {
    const std::int64_t below = schedule_.threads / schedule_.across, parts = base::ceil_div(chunks(), below * run);
    if (run > (splits_ && parts > 1 ? longest_run : most_run) || (splits_ && parts > ct::most_column_parts)) return;
    schedule_.run = static_cast<int>(run);
    schedule_.part = splits_ && parts > 1 ? below * run * ct::chunk_elements : 0;
    if (schedule_.part == 0 || fits_memory(parts, run)) candidates_.add(schedule_, work());
    schedule_.run = 0;
    schedule_.part = 0;
  }

  /// Whether the states of that many parts take little memory compared with the operands, or no longer run takes less.
  bool fits_memory(std::int64_t parts, std::int64_t run) const {
    const std::int64_t state = state_bytes_ / 2;  // of a point
    return run >= most_run || static_cast<double>(parts * point_count(launch_) * state) <= most_state_share * bytes_;
  }

  /// Sets the numbers of the model of a launch that all candidates share.
  void measure() {
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      const Access& access = analysis_.accesses[a];
      if (access.written || !access.affine || !launch_.variant.moves_inside(a)) continue;
      in_bytes_ += packed_.item_size(a) *
                   (launch_.variant.strides[a][fast_] == StrideClass::none ? 1 : std::int64_t{schedule_.vector});
    }
    const kernel::Kernel& kernel = analysis_.kernel;
    groups_ = std::ssize(kernel::stage_groups(kernel));
    passes_ = groups_ + (analysis_.stores_elements() ? 1 : 0);
    bytes_ = bytes_of_operands(analysis_, launch_);
    instructions_ = instructions_of_element(analysis_) * static_cast<double>(point_count(launch_)) *
                    static_cast<double>(inner_length(launch_));
  }
  LaunchWork work() const {
    const std::int64_t below = schedule_.threads / schedule_.across, run = schedule_.run;
    const std::int64_t parts = reduction_parts(launch_, schedule_);
    // As in ColumnTeam::chunk (column_packs.cuh).
    const std::int64_t loads = in_bytes_ > 64 ? 1 : in_bytes_ > 32 ? 2 : in_bytes_ > 16 ? 4 : 8;
    const std::int64_t state = state_bytes_ / (splits_ ? 2 : 1);  // of a point
    LaunchWork work;
    work.blocks = blocks() * parts;
    const std::int64_t levels = std::bit_width(static_cast<std::uint64_t>(run));  // of the counter
    work.block = {schedule_.threads,
                  registers_of_thread(loads * in_bytes_ + (levels + 1) * state * schedule_.vector, schedule_.threads),
                  shared_bytes(schedule_.vector)};
    work.bytes = bytes_;
    if (parts > 1) work.bytes += 2 * static_cast<double>(parts * point_count(launch_) * state);
    work.instructions = instructions_;
    const std::int64_t own = std::min(run, base::ceil_div(chunks(), below));  // chunks
    const double rounds = static_cast<double>(own * (ct::chunk_elements / loads));
    work.waits = rounds;
    // Columns that are read again are in the cache if those that run at the same time fit.
    const double more = static_cast<double>(passes_ - 1);
    const double read = static_cast<double>(in_bytes_ / schedule_.vector) * static_cast<double>(point_count(launch_)) *
                        static_cast<double>(inner_length(launch_));
    const std::int64_t resident = occupancy_of(work.block, machine_.limits).blocks * machine_.multiprocessors;
    const double share = static_cast<double>(std::min(resident, work.blocks)) / static_cast<double>(work.blocks);
    const bool from_cache = share * read <= static_cast<double>(machine_.cache_bytes);
    (from_cache ? work.cache_waits : work.waits) += more * rounds;
    if (!from_cache) work.bytes += more * read;
    work.joins = static_cast<double>(groups_);
    work.publishes = parts > 1;
    if (parts > 1) work.last_waits = static_cast<double>(schedule_.vector * base::ceil_div(parts, below));
    return work;
  }

  /// Blocks that have whole columns.
  std::int64_t blocks() const {
    return std::max<std::int64_t>(1, tiles_of_line(launch_, schedule_) * line_count(launch_));
  }
  std::int64_t row_bytes() const { return std::int64_t{schedule_.across} * schedule_.vector * packed_.widest(); }

  std::string why_split() const {
    const std::int64_t blocks = this->blocks();
    const std::int64_t wanted_blocks = 2 * std::int64_t{machine_.multiprocessors};
    const std::string count =
        fmt::format("whole columns give {}, {} {}, two for each multiprocessor", base::counted(blocks, "block"),
                    blocks < wanted_blocks ? "fewer than" : "at least", wanted_blocks);
    if (schedule_.part > 0)
      return fmt::format("part={}, {} of a column: {}", schedule_.part,
                         base::counted(reduction_parts(launch_, schedule_), "part"),
                         blocks < wanted_blocks ? count : fmt::format("a thread has {} chunks", schedule_.run));
    if (!splits_) return "not split: more than the results depends on the whole reduction";
    return "not split: " + (blocks < wanted_blocks ? "each thread has one chunk" : count);
  }

  std::string why_vector(const Overrides& wanted) const {
    const std::int64_t full = widest_access_bytes / packed_.widest();
    const std::int64_t most = std::min<std::int64_t>(wanted.vector.value_or(widest_pack), full);
    if (schedule_.vector == most)
      return wanted.vector == schedule_.vector
                 ? "set by an override"
                 : fmt::format("at most {} elements and {} bytes; all packs of operands are aligned", widest_pack,
                               widest_access_bytes);
    if (!machine_.aligned) return "operands may begin anywhere";
    const std::string unaligned = packed_.why_not_aligned(schedule_.vector * 2);
    return unaligned.empty() ? "the states of wider packs do not fit into shared memory" : unaligned;
  }

  std::int64_t shared_bytes(std::int64_t vector) const { return state_bytes_ * vector * schedule_.threads; }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  const Machine& machine_;
  std::size_t fast_;
  PackedAccesses packed_;
  // Whether columns may be cut into parts. Where results of elements are stored, not if a line of a block's threads has
  // them all: more blocks are then those of fewer columns, whose threads share the elements.
  bool splits_;
  std::int64_t state_bytes_;                // for each thread and point of its pack
  std::int64_t in_bytes_ = 0;               // of the operands of a thread's pack
  std::ptrdiff_t groups_ = 1, passes_ = 1;  // of reductions; over the columns, also for the results
  double bytes_ = 0, instructions_ = 0;     // of all operands and elements
  Candidates candidates_;
};

}  // namespace

void fit_column(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                const Overrides& wanted, Reasons* why) {
  ColumnFit fit(schedule, analysis, launch, machine);
  fit.run(wanted);
  if (why != nullptr) fit.explain(wanted, *why);
}

}  // namespace croton::codegen
