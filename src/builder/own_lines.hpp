// Lines of Croton's own sources. Nodes are said to come from the user's lines: a function of the library takes its
// caller's line (`Where where = std::source_location::current()`, or that of an Operand) and hands it on, or opens an
// OriginScope. Where it forgets to, a node gets a line of the library, which messages then name; under the flag
// `verify` that is an error as soon as the node is made.
#pragma once

#include <croton/where.hpp>

#include <string_view>

namespace croton::builder {

/// Is it a line of src/, include/ or python_bindings/?
bool is_own_line(Where where);
/// Under the flag `verify` InternalError where a node of that op has such a line.
void check_line(std::string_view op, Where where);

}  // namespace croton::builder
