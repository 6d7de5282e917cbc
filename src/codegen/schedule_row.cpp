#include "codegen/schedule_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/counted.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "codegen/cost_model.hpp"
#include "codegen/functor.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_pointwise.hpp"
#include "codegen/schedule_split.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t pack = ct::lane_accumulators;
constexpr int packs_of_block = 8;  // of a lane, in a block of the tree
// Registers of a thread for the row: of the 64 that it has if half of the threads of a multiprocessor are resident,
// others are for addresses and values.
constexpr std::int64_t most_held_registers = 40;
constexpr std::int64_t most_blocks = 1024;  // of the tree
// Static shared memory, for the states of blocks.
constexpr std::int64_t most_state_bytes = 46 * 1024;
// The lanes of a row read a half of it at once, but at least two sectors of memory and at most a line: with one sector,
// sums of rows of 32 and 128 elements take 1.13 and 1.21 times as long, with two, rows of 128 1.05
// (bench/results/2026-11-28-gpu-variants-nvidia-h200.md, 14).
constexpr std::int64_t least_lane_bytes = 64, line_bytes = 128;
constexpr int least_threads = 64;
// For the states of the blocks of a part of a row that meets others.
constexpr std::int64_t most_part_state_bytes = 16 * 1024;

/// Threads that do rows.
struct Team {
  int lanes = 32, warps = 1;  // of a row
  int threads = 256;          // of a block
};

/// Whether packs of the access are loaded along the row (Emitter::is_fetched).
bool is_loaded_in_packs(const Analysis& analysis, const Variant& variant, std::size_t a) {
  const Access& access = analysis.accesses[a];
  return !access.written && access.affine && !analysis.is_conditional(a) && variant.moves_inside(a);
}

/// A row kernel with numbers.
class RowFit {
 public:
  RowFit(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        machine_(machine),
        inner_(launch.sizes.size() - 1),
        length_(inner_length(launch)),
        packed_(analysis, launch, inner_),
        candidates_(machine) {
    if (!launch.variant.inner.empty()) again_ = operands_to_hold(analysis, launch.variant);
  }

  void run(const Overrides& wanted) {
    if (!has_packs()) return;
    schedule_.vector = lines_are_packs(launch_) && machine_.aligned && packed_.is_aligned_in_packs(pack) ? pack : 1;
    schedule_.whole = lines_are_packs(launch_) && length_ % pack == 0;
    schedule_.is_short = is_short_row(analysis_);
    measure_passes();
    Schedule in_parts = schedule_;
    if (fits_block() && !wanted.part) add_teams(wanted);
    if (may_have_parts()) {
      in_parts.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(in_parts.threads)));
      in_parts.full = length_ % ct::block_elements == 0;
      add_parts(candidates_, in_parts, analysis_, launch_, machine_, wanted.part);
    } else if (may_meet()) {
      add_meetings(in_parts, wanted.part);
    }
    if (candidates_.empty()) {  // it cannot be cut into the wanted parts
      if (fits_block())
        add_teams(wanted);
      else if (may_meet())
        add_meetings(in_parts, {});
    }
    if (candidates_.empty()) return;  // a warp for each row
    schedule_ = candidates_.best();
    schedule_.index = row_index_width(analysis_, launch_, columns());
  }

  /// Adds the candidates in which a row is the work of one block at most.
  void add_teams(const Overrides& wanted) {
    schedule_.row_blocks = row_blocks();
    for (const Team& team : row_packs() > ct::block_elements / pack ? teams_of_warps() : teams_of_lanes(wanted)) {
      fit(team);
      stage_operands();
      candidates_.add(schedule_, work());
      if (schedule_.staged == 0) continue;
      schedule_.staged = 0;
      schedule_.shared_bytes = 0;
      candidates_.add(schedule_, work());
    }
  }

  /// Adds the candidates in which all blocks run at the same time, and each has a part of a row.
  void add_meetings(Schedule meeting, std::optional<std::int64_t> wanted_part) {
    const Schedule usual = schedule_;
    const bool fits = fits_block();
    const std::int64_t points = point_count(launch_), blocks = base::ceil_div(length_, ct::block_elements);
    meeting.threads = static_cast<int>(std::bit_floor(static_cast<unsigned>(meeting.threads)));
    meeting.meets = static_cast<int>(groups_);
    meeting.lanes = ct::lanes;
    meeting.warps = static_cast<int>(meeting.threads / ct::lanes);
    const std::int64_t most = std::max<std::int64_t>(meeting.warps, most_part_state_bytes / state_bytes_);
    for (std::int64_t of_part = meeting.warps; of_part <= most && of_part < 2 * blocks; of_part *= 2) {
      const std::int64_t parts = base::ceil_div(blocks, of_part);
      if (parts == 1 || parts > ct::most_split_parts) continue;
      if (wanted_part && wanted_part != of_part * ct::block_elements) continue;
      schedule_ = meeting;
      schedule_.part = of_part * ct::block_elements;
      schedule_.row_blocks = static_cast<int>(of_part);
      schedule_.together = base::to_int(
          base::ceil_div<std::int64_t>(std::max<std::int64_t>(1, points * parts), machine_.multiprocessors));
      if (!can_meet()) continue;
      schedule_.packs = packs_of_block * static_cast<int>(of_part / meeting.warps);
      // The text of more packs in registers would be too long.
      if (of_part == meeting.warps) schedule_.held = operands_held(schedule_.part);
      if (schedule_.held == 0) schedule_.packs = packs_of_block;
      stage_part();
      // Where elements are read from memory again, the whole rate of the memory is all that more blocks could have.
      const bool is_kept = schedule_.held + schedule_.staged == std::ssize(again_);
      if (!is_kept && fits && !wanted_part) continue;
      schedule_.full = length_ % schedule_.part == 0;
      LaunchWork meetings = work(schedule_.part, points * parts);
      meetings.meetings = static_cast<double>(schedule_.meets);
      meetings.last_waits = static_cast<double>(base::ceil_div<std::int64_t>(parts, meeting.threads));
      candidates_.add(schedule_, meetings);
    }
    schedule_ = usual;
  }

  /// Puts the operands of a part that registers do not hold into shared memory, if there is room for those of all
  /// blocks of a multiprocessor.
  void stage_part() {
    const std::span others = std::span(again_).subspan(base::to_size(schedule_.held));
    const std::int64_t bytes = schedule_.part / pack * bytes_of_packs(others);
    if (bytes == 0 || bytes + state_bytes() > machine_.shared_bytes || !can_meet(bytes)) return;
    schedule_.staged = base::to_int(others.size());
    schedule_.shared_bytes = bytes;
  }

  /// Whether a multiprocessor surely has room for its share of the blocks, with the registers that their launch bounds
  /// leave.
  bool can_meet(std::int64_t staged_bytes = 0) const {
    if (schedule_.together > resident_blocks(schedule_.threads)) return false;
    const BlockResources block{.threads = schedule_.threads,
                               .registers = registers_of_meeting(schedule_),
                               .shared_bytes = staged_bytes + state_bytes()};
    return occupancy_of(block, machine_.limits).blocks >= schedule_.together;
  }

  /// The reasons of what run() chose.
  void explain(const Overrides& wanted, Reasons& why) const {
    if (wanted.part && schedule_.part != *wanted.part)
      why.push_back(fmt::format("an override asks for part={}, which cannot be had", *wanted.part));
    if (schedule_.packs == 0) {
      why.push_back(
          launch_.variant.inner.empty() ? "no packs: rows have one element"
          : !has_packs()
              ? "no packs: the elements of a row are on several axes, and more than addresses depends on their "
                "positions"
              : fmt::format("no packs: the states of rows of {} elements do not fit into shared memory", length_));
      return;
    }
    const auto numbers = [](const Schedule& s) {
      if (s.part > 0) return fmt::format("part={}", s.part);
      return fmt::format("lanes={} warps={} threads={} held={} staged={}", s.lanes, s.warps, s.threads, s.held,
                         s.staged);
    };
    if (schedule_.part > 0) {
      why.push_back(fmt::format("part={}: {} of each row (of at least {} elements) for {} multiprocessors{}",
                                schedule_.part, base::counted(reduction_parts(launch_, schedule_), "part"),
                                least_part(schedule_), machine_.multiprocessors, candidates_.comparison(numbers)));
      if (schedule_.meets > 0) {
        why.push_back(
            "meets: elements or later reductions need results of whole rows, so all parts run at the same time");
        why.push_back(why_held());
      }
    } else {
      why.push_back(fmt::format("lanes={} warps={} packs={}: a row of {} elements has {} packs of {}{}",
                                schedule_.lanes, schedule_.warps, schedule_.packs, length_,
                                base::ceil_div(length_, pack), pack, candidates_.comparison(numbers)));
      why.push_back(why_held());
    }
    why.push_back(alignment_reason(packed_, schedule_, launch_, machine_));
    if (schedule_.full)
      why.push_back(fmt::format("full: {} elements are whole packs for all threads", length_));
    else if (schedule_.whole)
      why.push_back(fmt::format("whole: {} is a multiple of {}", launch_.sizes.back(), pack));
    row_index_width(analysis_, launch_, columns(), &why);
  }

 private:
  bool is_folded() const { return launch_.variant.inner.size() > 1; }
  bool has_packs() const {
    if (!is_folded()) return !launch_.variant.inner.empty();
    return !machine_.whole_warps && can_fold(analysis_, launch_);
  }
  std::int64_t columns() const { return schedule_.part > 0 ? schedule_.part : reach_of_row(schedule_, length_); }
  bool fits_block() const { return length_ <= most_blocks * ct::block_elements && state_bytes() <= most_state_bytes; }

  /// Whether rows may be cut into parts, of a block each. Blocks that have rows for their columns, too, have whole
  /// ones.
  bool may_have_parts() const {
    return !machine_.whole_warps && length_ > ct::block_elements && only_points_use_reductions(analysis_) &&
           !needs_all_lanes();
  }

  /// Whether the parts of a row may meet after each reduction. A result of a row must not be in the memory of an
  /// operand that another part may still read.
  bool may_meet() const {
    const auto dtype_of = [&](std::size_t operand) { return analysis_.kernel.operands[operand].dtype; };
    const auto is_read_at = [&](const kernel::Store& store) {
      return std::ranges::any_of(analysis_.accesses, [&](const Access& access) {
        return !access.written && access.index == store.index && dtype_of(access.operand) == dtype_of(store.operand);
      });
    };
    const bool is_overwritten = std::ranges::any_of(analysis_.kernel.stores, [&](const kernel::Store& store) {
      return std::ranges::none_of(store.index, [&](NodeId i) { return bool{analysis_.inner[i]}; }) && is_read_at(store);
    });
    return machine_.cooperates && !machine_.whole_warps && length_ > ct::block_elements &&
           !analysis_.kernel.stages.empty() && !is_overwritten && !needs_all_lanes();
  }

  std::int64_t row_packs() const { return std::max<std::int64_t>(1, base::ceil_div(length_, pack)); }

  /// Teams for rows of several blocks of the tree: as many warps as have one, and fewer.
  std::vector<Team> teams_of_warps() const {
    const auto most = static_cast<unsigned>(ct::most_threads / ct::lanes);
    const auto blocks = static_cast<unsigned>(base::ceil_div(length_, ct::block_elements));
    const int warps = static_cast<int>(std::min(std::bit_ceil(blocks), most));
    std::vector<Team> teams;
    for (int some = warps; some >= std::max(2, warps / 4); some /= 2)
      teams.push_back({ct::lanes, some, some * static_cast<int>(ct::lanes)});
    return teams;
  }

  /// Teams for shorter rows: as many lanes as have a pack, and fewer; the usual threads, and fewer.
  std::vector<Team> teams_of_lanes(const Overrides& wanted) const {
    const bool all = needs_all_lanes();
    const auto packs = static_cast<unsigned>(row_packs());
    const int lanes = static_cast<int>(all ? ct::lanes : std::min<unsigned>(std::bit_ceil(packs), ct::lanes));
    const int threads = wanted.threads.value_or(machine_.threads);
    const std::int64_t least_bytes = std::clamp(length_ * packed_.widest() / 2, least_lane_bytes, line_bytes);
    const int least = wanted.threads ? threads : std::min(threads, std::max(least_threads, threads / 4));
    std::vector<Team> teams;
    for (int some = lanes; some >= std::max(1, machine_.whole_warps ? lanes : lanes / 4); some /= 2) {
      // Then a thread has the accumulators of several lanes of the tree, in registers, so that there is no loop over
      // packs.
      const bool fits = !all && schedule_.is_short &&
                        base::ceil_div<std::int64_t>(row_packs(), some) <= packs_of_block &&
                        some * pack * packed_.widest() >= least_bytes;
      if (some < lanes && !fits) break;
      for (int of_block = threads; of_block >= least; of_block /= 2) teams.push_back({some, 1, of_block});
    }
    return teams;
  }

  void fit(const Team& team) {
    schedule_.lanes = team.lanes;
    schedule_.warps = team.warps;
    schedule_.threads = team.threads;
    const auto of_thread = static_cast<unsigned>(base::ceil_div<std::int64_t>(row_packs(), team.lanes * team.warps));
    schedule_.packs =
        static_cast<int>(team.warps == 1 ? std::bit_ceil(of_thread) : packs_of_block * std::bit_ceil(blocks_of_warp()));
    schedule_.held = operands_held(length_);
    if (schedule_.held == 0) schedule_.packs = std::min(schedule_.packs, packs_of_block);
    schedule_.full = is_full();
  }
  unsigned blocks_of_warp() const {
    return static_cast<unsigned>(base::ceil_div(length_, ct::block_elements * schedule_.warps));
  }

  /// Sets the numbers of the model of a launch that all candidates share.
  void measure_passes() {
    const kernel::Kernel& kernel = analysis_.kernel;
    groups_ = std::ssize(kernel::stage_groups(kernel));
    state_bytes_ = state_bytes_of_groups(analysis_);
    passes_ = groups_ + (analysis_.stores_elements() ? 1 : 0);
    for (std::size_t a = 0; a < analysis_.accesses.size(); ++a) {
      if (is_loaded_in_packs(analysis_, launch_.variant, a)) loaded_bytes_ += pack * packed_.item_size(a);
    }
    bytes_ = bytes_of_operands(analysis_, launch_);
    instructions_ = instructions_of_element(analysis_);
  }

  LaunchWork work() const {
    const std::int64_t of_block = schedule_.threads / (schedule_.lanes * schedule_.warps);
    return work(length_, std::max<std::int64_t>(1, base::ceil_div(point_count(launch_), of_block)));
  }
  /// Of blocks that have so many elements of a row.
  LaunchWork work(std::int64_t length, std::int64_t blocks) const {
    const std::int64_t points = point_count(launch_), threads = schedule_.lanes * schedule_.warps;
    const std::int64_t of_row = base::ceil_div(length, pack);
    const auto again = static_cast<std::ptrdiff_t>(again_.size());
    const std::span all(again_);
    const auto held = all.first(base::to_size(schedule_.held));
    const auto others = all.subspan(base::to_size(schedule_.held + schedule_.staged));
    const std::int64_t held_bytes = bytes_of_packs(held);
    const std::int64_t in_bytes =
        std::max<std::int64_t>(0, loaded_bytes_ - bytes_of_packs(all.first(all.size() - others.size())));
    const std::int64_t of_block = std::min(schedule_.packs, packs_of_block);
    const std::int64_t at_once = packs_at_once(in_bytes, schedule_.held > 0, of_block);
    const std::int64_t rounds = base::ceil_div(base::ceil_div(of_row, threads), at_once);
    LaunchWork work;
    work.blocks = blocks;
    // As in PackTeam::tree_lanes.
    const std::int64_t tree_lanes = std::min<std::int64_t>(ct::lanes / schedule_.lanes, of_block);
    const std::int64_t in_registers =
        schedule_.packs * held_bytes + at_once * in_bytes + (tree_lanes - 1) * pack * state_bytes_;
    work.block = {schedule_.threads, registers_of_thread(in_registers, schedule_.threads),
                  schedule_.shared_bytes + state_bytes()};
    work.bytes = bytes_;
    const bool is_kept = again > 0 && others.empty();
    work.waits = static_cast<double>(is_kept ? 1 : rounds);
    const double more = static_cast<double>(others.empty() ? 0 : passes_ - 1);
    work.instructions = instructions_ * static_cast<double>(points) * static_cast<double>(length_) * (1 + more);
    work.joins = static_cast<double>(schedule_.warps > 1 ? groups_ : 0);
    // Rows that are read again are in the cache if those that run at the same time fit.
    const double row_bytes = static_cast<double>(bytes_of_packs(others) * of_row);
    const std::int64_t resident = occupancy_of(work.block, machine_.limits).blocks * machine_.multiprocessors;
    const double at_same_time = static_cast<double>(std::min(work.blocks, resident) * (schedule_.threads / threads));
    const bool from_cache = at_same_time * row_bytes <= static_cast<double>(machine_.cache_bytes);
    (from_cache ? work.cache_waits : work.waits) += more * static_cast<double>(rounds);
    if (!from_cache) work.bytes += more * row_bytes * static_cast<double>(schedule_.meets > 0 ? blocks : points);
    return work;
  }

  /// Rows that share a warp may be beyond the last one, and then have no elements.
  bool is_full() const {
    if (schedule_.lanes < ct::lanes) return false;
    const std::int64_t of_row = std::int64_t{schedule_.packs} * pack * ct::lanes * schedule_.warps;
    return schedule_.held > 0 || schedule_.warps == 1 ? length_ == of_row : length_ % ct::block_elements == 0;
  }

  /// Puts operands that do not fit into registers into shared memory, as far as so many threads of a multiprocessor
  /// have room for theirs.
  void stage_operands() {
    schedule_.staged = 0;
    schedule_.shared_bytes = 0;
    constexpr std::int64_t resident = 768;
    const std::int64_t slots = schedule_.warps == 1
                                   ? schedule_.threads * schedule_.packs
                                   : base::ceil_div(length_, ct::block_elements) * ct::block_elements / pack;
    const std::int64_t room =
        std::min(machine_.shared_bytes, machine_.shared_bytes * schedule_.threads / resident) - state_bytes();
    const std::span not_held = std::span(again_).subspan(base::to_size(schedule_.held));
    for (std::size_t count = 1; count <= not_held.size(); ++count) {
      const std::int64_t bytes = slots * bytes_of_packs(not_held.first(count));
      if (bytes > room) return;
      schedule_.staged = base::to_int(count);
      schedule_.shared_bytes = bytes;
    }
  }
  int row_blocks() const {
    const std::int64_t blocks = std::max<std::int64_t>(1, base::ceil_div(length_, ct::block_elements));
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(blocks)));
  }
  /// The static shared memory. A row of one block needs none; parts that meet also join their states in it.
  std::int64_t state_bytes() const {
    if (schedule_.meets > 0) return (schedule_.row_blocks + schedule_.warps) * state_bytes_;
    return row_blocks() == 1 ? 0 : row_blocks() * state_bytes_;
  }
  /// Whether a lane without elements changes a result: in products of complex infinities (identity_is_neutral in
  /// codegen_templates/common/combine.cuh).
  bool needs_all_lanes() const {
    return std::ranges::any_of(analysis_.kernel.stages, [&](const kernel::Stage& stage) {
      return stage.op->reduce->combiner == "Product" && is_complex(analysis_.kernel.body.type(stage.value).dtype);
    });
  }

  /// The size of a struct of packs of these accesses.
  std::int64_t bytes_of_packs(std::span<const std::size_t> accesses) const {
    std::int64_t bytes = 0, alignment = 1;
    for (const std::size_t a : accesses) {
      const std::int64_t own = pack * packed_.item_size(a), aligned = std::min(own, widest_access_bytes);
      bytes = base::round_up(bytes, aligned) + own;
      alignment = std::max(alignment, aligned);
    }
    return base::round_up(bytes, alignment);
  }

  std::string why_held() const {
    if (again_.empty()) return "held=0: no operand of the row itself is read by several passes";
    if (schedule_.held == std::ssize(again_))
      return fmt::format("held={}: all operands that are read several times", schedule_.held);
    return fmt::format(
        "held={} staged={} of {} operands that are read several times: a thread has {} registers for them, and {} "
        "bytes of shared memory are used",
        schedule_.held, schedule_.staged, again_.size(), room_for_rows(), schedule_.shared_bytes);
  }

  /// The registers of a thread for elements of the row.
  std::int64_t room_for_rows() const {
    return schedule_.meets > 0 ? static_cast<std::int64_t>(registers_for_rows(schedule_)) : most_held_registers;
  }
  /// How many operands of so many elements of a row fit into a thread's registers.
  int operands_held(std::int64_t length) const {
    if (std::int64_t{schedule_.packs} * pack * schedule_.lanes * schedule_.warps < length) return 0;
    std::int64_t bytes = 0;
    int count = 0;
    for (const std::size_t a : again_) {
      bytes += schedule_.packs * pack * packed_.item_size(a);
      if (bytes > room_for_rows() * 4) break;
      ++count;
    }
    return count;
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  const Machine& machine_;
  std::size_t inner_;
  std::int64_t length_;
  PackedAccesses packed_;
  std::vector<std::size_t> again_;          // operands_to_hold()
  std::ptrdiff_t groups_ = 0, passes_ = 0;  // of reductions; over the row, also for the results
  std::int64_t loaded_bytes_ = 0;           // of a pack of all operands
  std::int64_t state_bytes_ = 0;            // of a state of each group
  double bytes_ = 0, instructions_ = 0;     // of all operands; of an element
  Candidates candidates_;
};

}  // namespace

std::int64_t packs_at_once(std::int64_t in_bytes, bool needs_room, std::int64_t of_block) {
  const std::int64_t room = (needs_room ? 64 : 128) / std::max<std::int64_t>(1, in_bytes);
  return room >= of_block ? of_block : room >= 4 ? 4 : room >= 2 ? 2 : 1;
}

std::int64_t reach_of_row(const Schedule& schedule, std::int64_t length) {
  const std::int64_t of_packs = std::int64_t{schedule.packs} * pack * schedule.lanes * schedule.warps;
  return std::max<std::int64_t>(of_packs, base::round_up<std::int64_t>(length, ct::block_elements * schedule.warps));
}

bool is_short_row(const Analysis& analysis) {
  // Positions that are computed have divisions.
  return is_short_body(analysis) && std::ranges::all_of(analysis.accesses, &Access::affine);
}

std::vector<std::size_t> operands_to_hold(const Analysis& analysis, const Variant& variant) {
  const kernel::Kernel& kernel = analysis.kernel;
  std::vector<NodeId> results;
  for (const kernel::Store& store : kernel.stores) results.push_back(store.value);
  for (const kernel::Check& check : kernel.checks) results.insert(results.end(), {check.condition, check.value});
  // How many passes read each access; all results count as one.
  std::vector<int> readers(analysis.accesses.size(), 0);
  const auto count = [&](std::span<const NodeId> targets) {
    std::vector<bool> reads(readers.size(), false);
    const std::vector<bool> needed = kernel::needed_for(kernel.body, targets);
    for (const auto& [load, access] : analysis.load_access) reads[access] = reads[access] || needed[load];
    for (std::size_t a = 0; a < readers.size(); ++a) readers[a] += reads[a] ? 1 : 0;
  };
  for (const kernel::StageGroup& group : kernel::stage_groups(kernel)) {
    std::vector<NodeId> values;
    for (std::size_t s = group.begin; s < group.end; ++s) values.push_back(kernel.stages[s].value);
    count(values);
  }
  count(results);
  std::vector<std::size_t> own;
  const auto parallel = static_cast<std::ptrdiff_t>(variant.parallel.size());
  for (std::size_t a = 0; a < readers.size(); ++a) {
    if (readers[a] < 2 || !is_loaded_in_packs(analysis, variant, a)) continue;
    const auto& strides = variant.strides[a];
    const bool moves = std::any_of(strides.begin(), strides.begin() + parallel,
                                   [](StrideClass stride) { return stride != StrideClass::none; });
    if (moves || parallel == 0) own.push_back(a);
  }
  return own;
}

void fit_row(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
             const Overrides& wanted, Reasons* why) {
  RowFit fit(schedule, analysis, launch, machine);
  fit.run(wanted);
  if (why != nullptr) fit.explain(wanted, *why);
}

}  // namespace croton::codegen
