// The text of a routine (expr/routine.hpp): its template, made for the dtypes of the operands. One entry serves all of
// its launches: p.phase says which of them it is.
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
  std::vector<std::string> comment = {};  // lines put above the text
};

/// The parameters are the operands (access 0, 1, ..., the result last), the workspace, and then numbers (extent 0, 1,
/// ...): those that RoutineInfo names, the phase and the step.
Text emit_routine(const RoutinePart& part, Target target);

}  // namespace croton::codegen
