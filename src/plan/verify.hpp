// Verifies the invariants of a plan, from the plan and its program alone. The invariants are those of plan.hpp: each
// call is a step, with the buffers of its operands and results; each value is written once, and before it is read;
// memory is kept as long as a value in it is needed; in-place writes do not overwrite values that are read later;
// shared variables are overwritten after the commit point, by steps that cannot fail; a device reads only its own
// memory, and gets other values by transfers.
#pragma once

#include "plan/plan.hpp"

namespace croton::plan {

/// Raises InternalError with the step, its line and the invariant that is violated, also for the plans of bodies.
void verify(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
