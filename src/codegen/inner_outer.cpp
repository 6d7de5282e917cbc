#include "codegen/inner_outer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.hpp"
#include "codegen/index_width.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule_column.hpp"
#include "codegen/schedule_row.hpp"
#include "codegen/state_size.hpp"
#include "codegen_templates/common/sizes.hpp"

namespace croton::codegen {
namespace {

// Of a multiprocessor. Rows are done one after the other, so others must be under way; with fewer threads two launches,
// which do all rows at once, are faster.
constexpr std::int64_t least_threads = 256;
constexpr std::int64_t pack = ct::lane_accumulators;
// So that the sizes of groups of parts are fewer than the parts of the smallest one, whose counters they use.
constexpr std::int64_t most_parts = std::int64_t{1} << 21;

// The axes of a matrix: those of a launch of rows, and of one of columns.
constexpr std::size_t row_of_rows = 0, column_of_rows = 1, row_of_columns = 1, column_of_columns = 0;

/// The states of a block's columns, as the template counts them.
std::int64_t states_of_block(const Schedule& schedule) {
  return schedule.row_blocks == 1 ? std::int64_t{schedule.packs} * schedule.lanes * pack
                                  : schedule.row_blocks * ct::block_elements;
}

/// Whether the row kernel has the elements of its access in packs, which are those of the column kernel's access.
bool are_same(const MatrixKernel& rows, std::size_t b, const MatrixKernel& columns, std::size_t a) {
  const Access &of_rows = rows.analysis.accesses[b], &of_columns = columns.analysis.accesses[a];
  if (rows.arrays[of_rows.operand] != columns.arrays[of_columns.operand] || !of_rows.affine || !of_columns.affine)
    return false;
  if (rows.launch.variant.strides[b][column_of_rows] != StrideClass::unit ||
      columns.launch.variant.strides[a][column_of_columns] != StrideClass::unit ||
      columns.launch.variant.strides[a][row_of_columns] == StrideClass::none)
    return false;
  if (rows.analysis.is_conditional(b) || columns.analysis.is_conditional(a)) return false;
  return rows.launch.offsets[b] == columns.launch.offsets[a] &&
         rows.launch.strides[b][row_of_rows] == columns.launch.strides[a][row_of_columns];
}

/// Whether nothing but the results of columns depends on a whole reduction, and everything is read at positions that
/// the launch has.
bool has_simple_columns(const Analysis& analysis) {
  const kernel::Kernel& kernel = analysis.kernel;
  if (!kernel.checks.empty() || kernel::stage_groups(kernel).size() != 1) return false;
  return std::ranges::all_of(analysis.accesses, &Access::affine) &&
         std::ranges::none_of(kernel.stores, [&](const kernel::Store& store) {
           return analysis.inner[store.value] ||
                  std::ranges::any_of(store.index, [&](NodeId i) { return analysis.inner[i]; });
         });
}

/// Whether both walk the same matrix, whose rows are long enough for whole warps.
bool is_same_matrix(const MatrixKernel& rows, const MatrixKernel& columns) {
  const auto has_two_axes = [](const Variant& variant) {
    return variant.parallel.size() == 1 && variant.inner.size() == 1;
  };
  return has_two_axes(rows.launch.variant) && has_two_axes(columns.launch.variant) &&
         rows.launch.sizes[row_of_rows] == columns.launch.sizes[row_of_columns] &&
         rows.launch.sizes[column_of_rows] == columns.launch.sizes[column_of_columns] &&
         rows.launch.sizes[row_of_rows] > 0 && rows.launch.sizes[column_of_rows] > 0;
}

/// Whether the column kernel gets all that it reads of the row kernel's results: other threads' results are not there
/// yet.
bool gets_all_results(const MatrixKernel& rows, const MatrixKernel& columns, const SharedOperands& shared) {
  const std::vector<kernel::Operand>& operands = rows.analysis.kernel.operands;
  for (std::size_t a = 0; a < columns.analysis.accesses.size(); ++a) {
    const Access& access = columns.analysis.accesses[a];
    if (access.written || shared.given[a] != SharedOperands::own) continue;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].written && rows.arrays[i] == columns.arrays[access.operand]) return false;
    }
  }
  return true;
}

/// Whether the column kernel loads elements of rows itself: it would wait for each pack.
bool loads_rows(const MatrixKernel& columns, const SharedOperands& shared) {
  for (std::size_t a = 0; a < columns.analysis.accesses.size(); ++a) {
    if (!columns.analysis.accesses[a].written && shared.given[a] == SharedOperands::own &&
        columns.launch.variant.strides[a][row_of_columns] != StrideClass::none)
      return true;
  }
  return false;
}

}  // namespace

SharedOperands share_operands(const MatrixKernel& rows, const MatrixKernel& columns) {
  SharedOperands shared;
  shared.given.assign(columns.analysis.accesses.size(), SharedOperands::own);
  const std::vector<Access>& accesses = rows.analysis.accesses;
  shared.skipped.assign(accesses.size(), false);
  for (std::size_t a = 0; a < shared.given.size(); ++a) {
    if (columns.analysis.accesses[a].written) continue;
    for (std::size_t b = 0; b < accesses.size(); ++b) {
      if (!are_same(rows, b, columns, a)) continue;
      shared.given[a] = b;
      break;
    }
  }
  for (std::size_t b = 0; b < accesses.size(); ++b) {
    shared.skipped[b] = accesses[b].written && rows.unread[accesses[b].operand] &&
                        std::ranges::find(shared.given, b) != shared.given.end();
  }
  return shared;
}

std::vector<std::size_t> distinct_given(const SharedOperands& shared) {
  std::vector<std::size_t> given;
  for (const std::size_t b : shared.given) {
    if (b != SharedOperands::own && std::ranges::find(given, b) == given.end()) given.push_back(b);
  }
  return given;
}

std::string fit_inner_outer(const MatrixKernel& rows, const MatrixKernel& columns, const Machine& machine,
                            std::optional<int> wanted) {
  if (wanted == 1) return "set by an override";
  if (!is_same_matrix(rows, columns) || !has_simple_columns(columns.analysis))
    return "the column kernel walks other elements, or needs more than one walk";
  Schedule schedule = rows.schedule;
  if (schedule.packs == 0 || schedule.lanes < ct::lanes) return "rows are too short for whole warps, or too long";
  const SharedOperands shared = share_operands(rows, columns);
  if (distinct_given(shared).empty() || !gets_all_results(rows, columns, shared))
    return "the column kernel reads other elements of the operands or results of the row kernel";
  if (wanted != 2 && loads_rows(columns, shared))
    return "the column kernel reads matrices that the row kernel does not";
  // The row's staged operands come after the states.
  const std::int64_t threads = std::int64_t{schedule.lanes} * schedule.warps;
  const std::int64_t bytes = schedule.shared_bytes * threads / schedule.threads +
                             states_of_block(schedule) * state_bytes_of_groups(columns.analysis);
  if (bytes > machine.shared_bytes / 2)
    return fmt::format("two blocks with {} bytes for the states of columns do not fit into shared memory", bytes);
  const std::int64_t parts = base::ceil_div<std::int64_t>(columns.launch.sizes[row_of_columns], ct::chunk_elements);
  if (parts > most_parts) return fmt::format("there are more than {} blocks", most_parts);
  if (wanted != 2 && parts * threads < least_threads * machine.multiprocessors)
    return fmt::format("{} blocks of {} threads, for {} rows each, are fewer than {} threads for each multiprocessor",
                       parts, threads, ct::chunk_elements, least_threads);
  schedule.threads = static_cast<int>(threads);
  schedule.shared_bytes = bytes;
  schedule.rows = static_cast<int>(ct::chunk_elements);
  rows.schedule = schedule;
  schedule.held = schedule.staged = 0;
  const PackedAccesses packed(columns.analysis, columns.launch, column_of_columns);
  schedule.vector = machine.aligned && packed.is_aligned_in_packs(pack) ? pack : 1;
  schedule.run = 1;
  schedule.part = ct::chunk_elements;
  const std::int64_t reach = reach_of_row(rows.schedule, rows.launch.sizes[column_of_rows]);
  schedule.index =
      std::max(columns.schedule.index, choose_index_width(columns.analysis, columns.launch, column_of_columns, reach));
  columns.schedule = schedule;
  return {};
}

std::string why_one_launch(const Launch& columns, const Schedule& schedule) {
  return fmt::format(
      "rows={} threads={}: one launch of the row kernel and the column kernel, which reads each operand once; {} "
      "blocks. This is a rule: modelled times are those of the row kernel alone",
      schedule.rows, schedule.threads, reduction_parts(columns, schedule));
}

LaunchMemory inner_outer_memory(const Analysis& columns, const Launch& launch, const Schedule& schedule) {
  const std::int64_t parts = reduction_parts(launch, schedule);
  return {parts * states_of_block(schedule) * state_bytes_of_groups(columns),
          base::round_up<std::int64_t>(parts, ct::joined_parts)};
}

}  // namespace croton::codegen
