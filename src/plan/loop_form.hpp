// How a loop runs: as one launch, or a step at a time.
#pragma once

#include "plan/plan.hpp"

#include <string>

namespace croton::plan {

/// Why the host runs such a loop a step at a time; empty where one launch may run all steps. (At some sizes the host
/// runs it all the same: runtime/native_loop.hpp.)
std::string why_by_steps(const fuse::Program& body, const Plan& plan);

}  // namespace croton::plan
