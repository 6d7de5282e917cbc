// The line of the user's program that builds an expression. All bindings that pass a line to Croton call here().
#pragma once

#include <croton/where.hpp>

namespace croton::python {

/// The current line in the innermost Python frame outside this package; unknown if there is none. Needs the GIL.
Where here();

}  // namespace croton::python
