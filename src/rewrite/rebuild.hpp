// A graph with some of its nodes made others.
#pragma once

#include "expr/graph.hpp"

#include <functional>
#include <vector>

namespace croton::rewrite {

/// Asks `make`, in the order of the graph, what each node that is needed and is no leaf becomes: it gets the node and
/// what its inputs have become; no_node: the same op of these. Whether anything has changed.
bool rebuild(expr::Graph& graph,
             const std::function<expr::NodeId(expr::NodeId node, const std::vector<expr::NodeId>& inputs)>& make);

}  // namespace croton::rewrite
