// The line of the user's program that an expression is charged to. Every place of the bindings that hands a line to
// Croton calls here(), so that there is one place to change.
#pragma once

#include <croton/where.hpp>

namespace croton::python {

/// The line that runs in the innermost Python frame outside this package; unknown if there is none. Needs the GIL.
Where here();

}  // namespace croton::python
