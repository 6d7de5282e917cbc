// The schedule of row kernels on a GPU.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/schedule_overrides.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: as many lanes or warps as a row's packs of four elements can use, by classes of powers
/// of two, and whether the row stays in registers. No packs if the inner elements are no single axis, or too many.
void fit_row(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
             const Overrides& wanted);

}  // namespace croton::codegen
