// A graph with some of its nodes made others.
#pragma once

#include "expr/graph.hpp"

#include <functional>
#include <vector>

namespace croton::rewrite {

/// Whether any node of the arena is one of those: most graphs have none, and need not be walked further.
bool has_node(const expr::Graph& graph, const std::function<bool(expr::NodeId)>& is_one);

/// Asks `make`, in the order of the graph, what each node that is needed and is no leaf becomes: it gets the node and
/// what its inputs have become; no_node: the same op of these. Whether anything has changed.
bool rebuild(expr::Graph& graph,
             const std::function<expr::NodeId(expr::NodeId node, const std::vector<expr::NodeId>& inputs)>& make);

}  // namespace croton::rewrite
