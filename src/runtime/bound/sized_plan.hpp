// SizedPlan: a plan with the sizes and layouts of a call, which are known before any memory is allocated and without a
// device. It is for showing the launches of a call that does not run.
#pragma once

#include "runtime/bound/memory.hpp"

namespace croton::runtime {

struct SizedPlan {
  SizeTable sizes;
  Memory memory;  // layouts only: no buffer has an address
};

/// Finds sizes and layouts for arrays whose elements may not be read, except those of shared variables. Raises the
/// errors of sizes and layouts; ValueError if sizes depend on the values of arguments, or on values that only a run
/// computes.
SizedPlan size_plan(const Executable& executable, const CallArrays& arrays);

}  // namespace croton::runtime
