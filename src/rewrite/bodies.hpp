// Changes the bodies of loops and branches: the graphs inside nodes, to which a pass is applied as well.
#pragma once

#include "expr/graph.hpp"

#include <functional>

namespace croton::rewrite {

/// Replaces each body of the graph by `change` of it, once for equal bodies. `change` itself handles the bodies inside
/// a body.
void change_bodies(expr::Graph& graph, const std::function<expr::Graph(const expr::Graph&)>& change);

}  // namespace croton::rewrite
