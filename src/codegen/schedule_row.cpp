#include "codegen/schedule_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_pointwise.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

constexpr std::int64_t pack = ct::lane_accumulators;
// Registers of a thread for the row: of the 64 that it has if half of the threads of a multiprocessor are resident,
// others are for addresses and values.
constexpr std::int64_t most_held_registers = 40;
constexpr std::int64_t most_blocks = 1024;  // of the tree
// Static shared memory, for the states of blocks.
constexpr std::int64_t most_state_bytes = 46 * 1024;

/// A row kernel with numbers.
class RowFit {
 public:
  RowFit(Schedule& schedule, const Analysis& analysis, const Launch& launch)
      : schedule_(schedule),
        analysis_(analysis),
        launch_(launch),
        inner_(launch.sizes.size() - 1),
        length_(launch.sizes.back()),
        packed_(analysis, launch, inner_) {
    if (launch.variant.inner.size() == 1) again_ = operands_to_hold(analysis, launch.variant);
  }

  void run(const Machine& machine, const Overrides& wanted) {
    if (launch_.variant.inner.size() != 1 || length_ > most_blocks * ct::block_elements) return;
    if (state_bytes() > most_state_bytes) return;
    const auto packs = static_cast<unsigned>(std::max<std::int64_t>(1, base::ceil_div(length_, pack)));
    schedule_.lanes =
        static_cast<int>(needs_all_lanes() ? ct::lanes : std::min<unsigned>(std::bit_ceil(packs), ct::lanes));
    const auto of_lane = static_cast<unsigned>(base::ceil_div<std::int64_t>(packs, schedule_.lanes));
    schedule_.packs = static_cast<int>(std::min(std::bit_ceil(of_lane), 8u));
    schedule_.warps = 1;
    const std::int64_t blocks = base::ceil_div(length_, ct::block_elements);
    if (blocks > 1) fit_warps(blocks, machine);
    schedule_.held = operands_held();
    if (schedule_.held == 0) schedule_.packs = std::min(schedule_.packs, 8);
    schedule_.row_blocks = row_blocks();
    if (schedule_.warps == 1) {
      schedule_.threads = wanted.threads.value_or(machine.threads);
      while (schedule_.threads % schedule_.lanes != 0) --schedule_.threads;
    }
    schedule_.vector = machine.aligned && packed_.is_aligned_in_packs(pack) ? pack : 1;
    schedule_.whole = length_ % pack == 0;
    schedule_.full = is_full();
    schedule_.is_short = is_short_row(analysis_);
    stage_operands(machine);
    schedule_.index = choose_index_width(analysis_, launch_, inner_, columns());
  }

  /// The reasons of what run() chose.
  void explain(const Machine& machine, Reasons& why) const {
    if (schedule_.packs == 0) {
      why.push_back(
          launch_.variant.inner.size() != 1
              ? "no packs: the elements of a row are on several axes, or there are none"
              : fmt::format("no packs: the states of rows of {} elements do not fit into shared memory", length_));
      return;
    }
    why.push_back(fmt::format("lanes={} warps={} packs={}: a row of {} elements has {} packs of {}", schedule_.lanes,
                              schedule_.warps, schedule_.packs, length_, base::ceil_div(length_, pack), pack));
    why.push_back(why_held());
    why.push_back(packed_.alignment_reason(schedule_.vector > 1, machine, pack));
    if (schedule_.full)
      why.push_back(fmt::format("full: {} elements are whole packs for all threads", length_));
    else if (schedule_.whole)
      why.push_back(fmt::format("whole: {} is a multiple of {}", length_, pack));
    choose_index_width(analysis_, launch_, inner_, columns(), &why);
  }

 private:
  std::int64_t columns() const { return std::max<std::int64_t>(length_, ct::block_elements * schedule_.warps); }

  void fit_warps(std::int64_t blocks, const Machine& machine) {
    const auto most = static_cast<unsigned>(machine.most_threads / static_cast<int>(ct::lanes));
    schedule_.warps = static_cast<int>(std::min(std::bit_ceil(static_cast<unsigned>(blocks)), most));
    schedule_.threads = schedule_.warps * static_cast<int>(ct::lanes);
    const auto of_warp = static_cast<unsigned>(base::ceil_div<std::int64_t>(blocks, schedule_.warps));
    schedule_.packs = 8 * static_cast<int>(std::bit_ceil(of_warp));
  }

  /// Rows that share a warp may be beyond the last one, and then have no elements.
  bool is_full() const {
    if (schedule_.lanes < ct::lanes) return false;
    const std::int64_t of_row = std::int64_t{schedule_.packs} * pack * ct::lanes * schedule_.warps;
    return schedule_.held > 0 || schedule_.warps == 1 ? length_ == of_row : length_ % ct::block_elements == 0;
  }

  /// Puts operands that do not fit into registers into shared memory, as far as so many threads of a multiprocessor
  /// have room for theirs.
  void stage_operands(const Machine& machine) {
    constexpr std::int64_t resident = 768;
    const std::int64_t slots = schedule_.warps == 1
                                   ? schedule_.threads * schedule_.packs
                                   : base::ceil_div(length_, ct::block_elements) * ct::block_elements / pack;
    const std::int64_t room =
        std::min(machine.shared_bytes, machine.shared_bytes * schedule_.threads / resident) - state_bytes();
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
  /// The static shared memory. A row of one block needs none.
  std::int64_t state_bytes() const { return row_blocks() == 1 ? 0 : row_blocks() * state_bytes_of_groups(analysis_); }
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
        schedule_.held, schedule_.staged, again_.size(), most_held_registers, schedule_.shared_bytes);
  }

  /// How many operands fit into a thread's registers.
  int operands_held() const {
    if (std::int64_t{schedule_.packs} * pack * schedule_.lanes * schedule_.warps < length_) return 0;
    std::int64_t bytes = 0;
    int count = 0;
    for (const std::size_t a : again_) {
      bytes += schedule_.packs * pack * packed_.item_size(a);
      if (bytes > most_held_registers * 4) break;
      ++count;
    }
    return count;
  }

  Schedule& schedule_;
  const Analysis& analysis_;
  const Launch& launch_;
  std::size_t inner_;
  std::int64_t length_;
  PackedAccesses packed_;
  std::vector<std::size_t> again_;  // operands_to_hold()
};

}  // namespace

/// Whether packs of the access are loaded along the row (Emitter::is_fetched).
static bool is_loaded_in_packs(const Analysis& analysis, const Variant& variant, std::size_t a) {
  const Access& access = analysis.accesses[a];
  return !access.written && access.affine && !analysis.is_conditional(a) &&
         variant.strides[a][variant.parallel.size()] != StrideClass::none;
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
  RowFit fit(schedule, analysis, launch);
  fit.run(machine, wanted);
  if (why != nullptr) fit.explain(machine, *why);
}

}  // namespace croton::codegen
