#include "runtime/loops/loop_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/counted.hpp"
#include "base/rounding.hpp"
#include "base/shape.hpp"
#include "codegen/index_width.hpp"
#include "codegen_templates/common/sizes.hpp"
#include "runtime/cpu/threads/threads.hpp"
#include "runtime/loops/loop_parts.hpp"

namespace croton::runtime {
namespace {

using plan::Buffer;

// The maximal work of a step that one thread of the host does alone, in elements.
constexpr std::int64_t max_work_of_one_thread = 4'000'000;
// All blocks of a GPU work on a reduction that is longer than two blocks of its tree, which pays for one
// more grid barrier.
constexpr std::int64_t max_row_length_in_grid = 2 * ct::block_elements;

/// Whether an access at index i of the first axis only reads or writes row i of its operand.
bool follows_rows(const codegen::Analysis& analysis, const codegen::Access& access) {
  const expr::Arena& body = analysis.kernel.body;
  const auto is = [&](NodeId node, std::int64_t value) {
    const auto known = node == expr::no_node ? std::nullopt : body.scalar_value(node);
    return known && known->as_int() == value;
  };
  if (!access.affine || access.index.empty()) return false;
  for (std::size_t axis = 0; axis < access.coefficient.size(); ++axis) {
    for (std::size_t d = 0; d < access.coefficient[axis].size(); ++d) {
      const NodeId c = access.coefficient[axis][d];
      const bool fits = axis == 0 && d == 0 ? is(c, 1) : axis != 0 && d != 0 ? true : c == expr::no_node || is(c, 0);
      if (!fits) return false;
    }
  }
  return is(access.offset[0], 0);
}

/// Whether each of the `rows` rows that the part writes depends only on the same row of values that the loop writes.
bool walks_rows(const LoopLayout& layout, const StepPart& part, std::int64_t rows) {
  const auto written = [&](std::size_t access) { return layout.motions[part.buffers[access]].written; };
  if (!part.kernel)
    return (layout.shown || part.sizes.m == rows) && !written(1) && !(written(0) && part.step->left.transposed);
  const codegen::Analysis& analysis = *part.analysis();
  const codegen::Launch& launch = part.kernel->launch;
  if (launch.variant.parallel.empty() || launch.variant.parallel[0].axes[0] != 0 || analysis.explicit_axes[0])
    return false;
  const std::vector<std::int64_t> values = analysis.host_values(part.kernel->extents);
  const kernel::Axis& first = analysis.kernel.axes[0];
  if (first.inner || (!layout.shown && values[first.extent] != rows)) return false;
  for (std::size_t a = 0; a < analysis.accesses.size(); ++a) {
    if (written(a) && !follows_rows(analysis, analysis.accesses[a])) return false;
  }
  return true;
}

/// The size of the first axis of the loop's results, if it is the same for all and more than one.
std::optional<std::int64_t> rows_of_results(const LoopLayout& layout) {
  std::optional<std::int64_t> rows;
  const auto& buffers = layout.body->plan.buffers;
  for (const plan::BufferId b : buffers.ids()) {
    if (buffers[b].role != Buffer::Role::output) continue;
    constexpr std::int64_t some_rows = 2;
    const std::vector<std::int64_t> shape =
        layout.shown
            ? std::vector<std::int64_t>(layout.body->program.graph.arena.type(buffers[b].node).rank(), some_rows)
            : layout.memory.layouts[b].shape;
    if (shape.empty() || shape[0] <= 1 || rows.value_or(shape[0]) != shape[0]) return std::nullopt;
    rows = shape[0];
  }
  return rows;
}

/// Finds the number of rows that can be partitioned.
void find_rows(LoopLayout& layout) {
  if (layout.loop->until || layout.parts.empty()) return;
  const std::optional<std::int64_t> rows = rows_of_results(layout);
  if (!rows) return;
  const auto walks = [&](const StepPart& part) { return walks_rows(layout, part, *rows); };
  if (std::ranges::all_of(layout.parts, walks)) layout.shares.rows = *rows;
}

/// The distance from row to row of an access, in bytes; 0 if it does not depend on the row.
std::int64_t row_bytes(const LoopLayout& layout, const StepPart& part, std::size_t a) {
  if (layout.shares.rows == 1) return 0;
  if (!part.kernel) return a == 1 ? 0 : part.matrix[a == 0 ? 3 : 7] * base::element_size(layout.dtype_of_product(part));
  const codegen::Access& access = part.analysis()->accesses[a];
  if (!access.affine) return 0;
  const DType dtype = part.analysis()->kernel.operands[access.operand].dtype;
  // The first axis may be merged with others, which then belong to the row.
  return part.kernel->launch.strides[a][0] * (part.kernel->launch.sizes[0] / layout.shares.rows) *
         base::element_size(dtype);
}

void find_row_bytes(LoopLayout& layout) {
  for (StepPart& part : layout.parts) {
    for (std::size_t a = 0; a < part.buffers.size(); ++a) part.row_strides.push_back(row_bytes(layout, part, a));
  }
}

bool splits_in_grid(const StepPart& part) { return part.as_row && part.elements() > max_row_length_in_grid; }

void share_in_rows_of(LoopShares& shares, std::int64_t share_rows) {
  shares.share_rows = share_rows;
  shares.shares = base::ceil_div(shares.rows, share_rows);
}

/// Lets all blocks work on each part, and splits long reductions again.
void use_grid(LoopLayout& layout) {
  LoopShares& shares = layout.shares;
  shares.rows = shares.share_rows = shares.shares = 1;
  for (StepPart& part : layout.parts) {
    if (splits_in_grid(part)) part.as_row = nullptr;
  }
}

/// Chooses whether the blocks of a GPU have their own rows, one block has all rows, or all blocks work on each part.
/// False, with the reason in `why`, if the host should run the steps.
bool choose_blocks(LoopLayout& layout, std::int64_t elements, std::string& why) {
  LoopShares& shares = layout.shares;
  std::int64_t widest = 1;  // points per row, of the widest part
  for (const StepPart& part : layout.parts) widest = std::max(widest, part.points() / shares.rows);
  // One thread for each point of the widest part, if there are enough rows.
  share_in_rows_of(shares, std::clamp<std::int64_t>(shares.schedule.threads / widest, 1, shares.rows));
  shares.blocks = codegen::tile_blocks(shares.shares, shares.schedule);
  LoopWork& work = shares.work;
  work.elements = elements;
  work.partitioned = shares.rows > 1;
  work.blocks = shares.blocks;
  work.barriers = layout.loop->until && writes_condition_at_once(layout) ? 1 : 0;
  for (const StepPart& part : layout.parts) work.barriers += (part.sync_after ? 1 : 0) + (splits_in_grid(part) ? 1 : 0);
  shares.choice = choose_loop_form(work, layout.device.facts().cooperates, shares.schedule);
  why = shares.choice.why;
  if (layout.is_grid()) use_grid(layout);
  return shares.choice.form != LoopForm::steps;
}

/// Chooses the number of threads of the host, from the work. False, with the reason in `why`, if only one thread can
/// run it and the work is too much for that.
bool choose_threads(LoopLayout& layout, std::int64_t work, std::string& why) {
  LoopShares& shares = layout.shares;
  if (work > max_work_of_one_thread && shares.rows == 1) {
    why = shares.work.why_not_partitioned + ", and a step is long";
    return false;
  }
  const std::int64_t worth =
      std::max<std::int64_t>(1, work * std::max<std::int64_t>(1, layout.steps) / shares.schedule.grain);
  const std::int64_t wanted = std::min<std::int64_t>({cpu::ThreadPool::instance().threads(), worth, shares.rows});
  share_in_rows_of(shares, base::ceil_div(shares.rows, wanted));
  return true;
}

/// Chooses the width of indices on a GPU, as wide as the widest part needs.
void choose_index(LoopLayout& layout) {
  codegen::IndexWidth& index = layout.shares.schedule.index;
  for (const StepPart& part : layout.parts)
    index = std::max(index, part.kernel ? codegen::choose_index_width(*part.analysis(), part.kernel->launch)
                                        : codegen::choose_index_width(part.matrix));
}

}  // namespace

std::int64_t work_of_step(const LoopLayout& layout) {
  std::int64_t work = 0;
  for (const StepPart& part : layout.parts) work += part.work();
  return work;
}

bool find_shares(LoopLayout& layout, std::string_view schedule, std::string& why) {
  find_rows(layout);
  const std::int64_t work = work_of_step(layout);
  LoopShares& shares = layout.shares;
  shares.schedule = codegen::choose_schedule(kernel::Family::row, machine_of(layout.device), schedule, loop_name);
  shares.work.why_not_partitioned = layout.loop->until ? "it ends by a condition"
                                    : shares.rows > 1  ? "its rows are few"
                                                       : "its rows depend on each other";
  if (!layout.on_host() && !choose_blocks(layout, work, why)) return false;
  choose_index(layout);
  find_row_bytes(layout);
  return !layout.on_host() || choose_threads(layout, work, why);
}

void show_shares(LoopLayout& layout) {
  find_rows(layout);
  layout.shares.schedule.index = codegen::IndexWidth::narrow;
  choose_index(layout);
  find_row_bytes(layout);
}

void find_grid_blocks(LoopLayout& layout, const codegen::Text& text) {
  LoopShares& shares = layout.shares;
  const int resident = layout.device.max_cooperative_blocks(text, shares.schedule.threads);
  std::int64_t warps = 1;
  for (const StepPart& part : layout.parts) warps = std::max(warps, part.warps());
  shares.blocks =
      resident == 0 ? 0 : grid_blocks(warps, resident, layout.device.facts().multiprocessors, shares.schedule);
}

std::string describe_shares(const LoopLayout& layout) {
  const LoopShares& shares = layout.shares;
  if (layout.on_host()) return "one launch of " + base::counted(shares.shares, "thread");
  if (layout.is_grid())
    return fmt::format("one cooperative launch of {}: {}", base::counted(shares.blocks, "block"), shares.choice.why);
  if (shares.rows == 1) return "one launch of one block: " + shares.choice.why;
  return fmt::format("one launch of {}, each with its own rows", base::counted(shares.blocks, "block"));
}

}  // namespace croton::runtime
