// The text of a routine (expr/routine.hpp): its template, instantiated for the dtypes of the operands. All launches use
// one entry; p.phase is the number of the launch.
#pragma once

#include "codegen/emit.hpp"
#include "expr/routine.hpp"

#include <string>
#include <vector>

namespace croton::codegen {

struct RoutinePart {
  const expr::Op* op;
  std::vector<DType> inputs;
  DType result;
  std::vector<std::string> comment = {};  // lines above the text
};

/// The text of a routine. Its parameters are the operands (access 0, 1, ..., the result last), the workspace, and then
/// numbers (extent 0, 1, ...): those that RoutineInfo names, the phase and the step.
Text emit_routine(const RoutinePart& part, Target target);

}  // namespace croton::codegen
