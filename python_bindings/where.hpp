// The line of the user's program that an expression is charged to. Every place of the bindings that hands a location to
// Croton calls here(), so that there is one place to change.
#pragma once

#include <source_location>

namespace croton::python {

/// An empty location: a std::source_location can only be made by the C++ compiler, and a line of the bindings would
/// name a place that the user has never seen.
inline std::source_location here() { return {}; }

}  // namespace croton::python
