// The steps of an explanation (croton/explain.hpp), from a plan with the sizes of a call.
#pragma once

#include <croton/explain.hpp>

#include <map>

#include "codegen/machine_constants.hpp"
#include "shown_kernels.hpp"

namespace croton::detail {

/// A GPU, or the host if there are no constants of one.
struct ExplainedMachine {
  const codegen::MachineConstants* gpu = nullptr;
  double threads = 1;  // of the host
};

/// Appends the launches of a call, with their times and reasons, and finds the sums. `show`: with the target of that
/// machine, and with sizes. `measured`: the times in seconds of those launches that were measured.
void explain_steps(const runtime::Executable& executable, const ShowOptions& show, const ExplainedMachine& machine,
                   const std::map<plan::LaunchId, double>& measured, Explanation& result);

}  // namespace croton::detail
