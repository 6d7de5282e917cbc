// The verifier of graphs: invariants that hold between stages. Tests run it after each group of rules.
#pragma once

#include "expr/graph.hpp"

#include <string>

namespace croton::expr {

/// The invariant that the graph violates, or an empty text.
std::string broken_promise(const Graph& graph);
/// Throws InternalError with the violated invariant, if there is one.
void verify(const Graph& graph);

}  // namespace croton::expr
