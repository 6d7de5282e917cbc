// The schedule of row kernels on a GPU.
#pragma once

#include <vector>

#include "codegen/schedule.hpp"
#include "codegen/schedule_overrides.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: as many lanes or warps as a row's packs of four elements can use, by classes of powers
/// of two, and whether the row stays in registers. No packs if the inner elements are no single axis, or too many.
void fit_row(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
             const Overrides& wanted, Reasons* why);

/// How many packs of all operands that are not held a thread loads at once, as PackTeam::at_once (row_packs.cuh);
/// `in_bytes`: of one of each. `needs_room`: others are held, or results of elements are stored while they are reduced.
/// `of_block`: packs of a thread in a block of the tree.
std::int64_t packs_at_once(std::int64_t in_bytes, bool needs_room, std::int64_t of_block);

/// How many elements from the begin of a row its threads may address: whole packs of all threads, also beyond the end.
std::int64_t reach_of_row(const Schedule& schedule, std::int64_t length);

/// Whether a thread's elements of a row may be unrolled.
bool is_short_row(const Analysis& analysis);

/// The accesses to the row's own elements that several reductions, or a reduction and the results, read. Operands that
/// all rows share are in the cache.
std::vector<std::size_t> operands_to_hold(const Analysis& analysis, const Variant& variant);

}  // namespace croton::codegen
