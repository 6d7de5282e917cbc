// What a plan promises, checked from the plan and its program alone: whoever made it, and whatever that one knew. The
// rules are those of plan.hpp: each value is written once and before it is read; memory is kept as long as a value in
// it is needed; what is written in place overwrites nothing that is read later; shared variables are overwritten after
// the commit point, by steps that cannot fail; a device reads its own memory, and gets the rest by transfers.
#pragma once

#include "plan/plan.hpp"

namespace croton::plan {

/// InternalError that names the step, its line and the promise that is broken.
void verify(const Plan& plan, const fuse::Program& program);

}  // namespace croton::plan
