// Marks of nodes that are parts of a gradient. They have the lines of their forward ops, and the compiler keeps the
// Where of every node; so the line itself is marked: a Where whose text is equal, but has another address.
#pragma once

#include <croton/where.hpp>

#include <string_view>

namespace croton::builder {

/// The same line, marked as one of the gradient of that op. Unmarked if the line is not known.
Where in_gradient_of(std::string_view op, Where where);
/// The op of whose gradient the line is a part; empty if it is not marked.
std::string_view gradient_of(Where where);

}  // namespace croton::builder
