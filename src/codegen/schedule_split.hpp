// The schedule of split kernels on a GPU.
#pragma once

#include "codegen/cost_model.hpp"
#include "codegen/packed_accesses.hpp"
#include "codegen/schedule.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: the size of a part, so that there are several blocks for each multiprocessor. No packs
/// if the elements are too many, or on several axes whose indices are used as numbers.
void fit_split(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               std::optional<std::int64_t> wanted_part, Reasons* why = nullptr);

/// Whether positions of elements are needed for their addresses alone, so that those of a row, or of everything, may be
/// on several axes. Stores along these axes are packs of the last one.
bool can_fold(const Analysis& analysis, const Launch& launch);
/// Whether the elements of a row are whole packs: those of a line on several axes must end with it, for one division to
/// find them.
bool lines_are_packs(const Launch& launch);
/// The reason why packs of a row are moved as a whole, or not.
std::string alignment_reason(const PackedAccesses& packed, const Schedule& schedule, const Launch& launch,
                             const Machine& machine);
/// The width of indices of rows. `reach`: the elements that a block may address from its first one on. Positions on
/// several axes have no lines, so that 64 bits for the first element of a block and 32 from there are no help.
IndexWidth row_index_width(const Analysis& analysis, const Launch& launch, std::int64_t reach, Reasons* why = nullptr);

/// Adds the schedules that cut each row of a launch, or everything, into parts of whole subtrees of the tree: those
/// that give each multiprocessor several blocks first, then longer and shorter ones; only that with parts of `wanted`
/// elements, if there can be such. The threads are a power of two.
void add_parts(Candidates& candidates, Schedule schedule, const Analysis& analysis, const Launch& launch,
               const Machine& machine, std::optional<std::int64_t> wanted);
/// The elements of the least part that add_parts() gives; for the reason of a schedule.
std::int64_t least_part(const Schedule& schedule);

}  // namespace croton::codegen
