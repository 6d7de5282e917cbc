// Rewrites of whole loops, which look at a loop, at what reads it and at what it reads together. (Bodies are graphs of
// their own, and are rewritten as such.)
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// As rules are named, with the reason of each.
std::span<const Rule> loop_rules();

/// Whether anything changed.
bool rewrite_loops(expr::Graph& graph, const Options& options, Fired& fired);

}  // namespace croton::rewrite
