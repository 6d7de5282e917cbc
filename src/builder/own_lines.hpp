// A check for lines of Croton's own sources. Nodes must have the user's lines: a function of the library takes its
// caller's line (`Where where = std::source_location::current()`, or that of an Operand) and passes it on, or opens an
// OriginScope. Otherwise a node gets a line of the library, which messages then name; with the flag `verify` that is an
// error as soon as the node is made.
#pragma once

#include <croton/where.hpp>

#include <string_view>

namespace croton::builder {

/// Whether it is a line of src/, include/ or python_bindings/.
bool is_own_line(Where where);
/// InternalError if a node of that op has such a line, with the flag `verify`.
void check_line(std::string_view op, Where where);

}  // namespace croton::builder
