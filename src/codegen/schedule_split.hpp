// The schedule of split kernels on a GPU.
#pragma once

#include "codegen/cost_model.hpp"
#include "codegen/schedule.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: the size of a part, so that there are several blocks for each multiprocessor. No packs
/// if the elements are too many, or on several axes whose indices are used as numbers.
void fit_split(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
               Reasons* why = nullptr);

/// Adds the schedules that cut each row of a launch, or everything, into parts of whole subtrees of the tree: those
/// that give each multiprocessor several blocks first, then longer and shorter ones. The threads are a power of two.
void add_parts(Candidates& candidates, Schedule schedule, const Analysis& analysis, const Launch& launch,
               const Machine& machine);
/// The elements of the least part that add_parts() gives; for the reason of a schedule.
std::int64_t least_part(const Schedule& schedule);

}  // namespace croton::codegen
