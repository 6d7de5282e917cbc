// The schedule of column kernels on a GPU.
#pragma once

#include "codegen/schedule.hpp"
#include "codegen/schedule_overrides.hpp"

namespace croton::codegen {

/// Sets the numbers of the text: packs along the fast axis, threads below each other on it, and parts of the reduced
/// elements where the points alone give too few blocks for the machine.
void fit_column(Schedule& schedule, const Analysis& analysis, const Launch& launch, const Machine& machine,
                const Overrides& wanted, Reasons* why);

}  // namespace croton::codegen
