// What holds of every graph between stages. Tests run it after each group of rules.
#pragma once

#include "expr/graph.hpp"

#include <string>

namespace croton::expr {

/// The promise that the graph breaks, or nothing.
std::string broken_promise(const Graph& graph);
/// InternalError that says which promise is broken.
void verify(const Graph& graph);

}  // namespace croton::expr
