// Replaces some nodes of a graph.
#pragma once

#include "expr/graph.hpp"

#include <functional>
#include <vector>

namespace croton::rewrite {

/// Whether any node of the arena matches: most graphs have none, and need no rebuild.
bool has_node(const expr::Graph& graph, const std::function<bool(expr::NodeId)>& matches);

/// Calls `make`, in the order of the graph, with each needed node that is not a leaf and its new inputs, and uses the
/// result instead of the node; for no_node, the same op with the new inputs. Returns whether anything changed.
bool rebuild(expr::Graph& graph,
             const std::function<expr::NodeId(expr::NodeId node, const std::vector<expr::NodeId>& inputs)>& make);

}  // namespace croton::rewrite
