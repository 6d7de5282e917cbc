// Rewrites of whole loops, which consider a loop together with its inputs and readers. (The rules for graphs rewrite
// the bodies.)
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// The names of these rewrites, with the reason of each.
std::span<const Rule> loop_rules();

/// Returns whether anything changed.
bool rewrite_loops(expr::Graph& graph, const Options& options, Fired& fired);

}  // namespace croton::rewrite
