// Which nodes are parts of a gradient. They have the lines of their forward ops, and every Where travels with its node
// through the compiler; so the mark is put on the line: the same text, in memory of its own.
#pragma once

#include <croton/where.hpp>

#include <string_view>

namespace croton::builder {

/// The same line, marked as one of the gradient of that op. Unmarked where it is not known.
Where in_gradient_of(std::string_view op, Where where);
/// The op of whose gradient it is; empty: of none.
std::string_view gradient_of(Where where);

}  // namespace croton::builder
