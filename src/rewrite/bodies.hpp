// Graphs inside nodes: what a pass does to a graph it does to these.
#pragma once

#include "expr/graph.hpp"

#include <functional>

namespace croton::rewrite {

/// The graph with each body made another; equal bodies are made once. Those inside bodies are the function's business.
void change_bodies(expr::Graph& graph, const std::function<expr::Graph(const expr::Graph&)>& change);

}  // namespace croton::rewrite
