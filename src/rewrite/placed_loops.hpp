// Rewrites of loops that depend on where these run, once that is decided: what pays on one device does not on another.
#pragma once

#include "rewrite/place.hpp"
#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// As rules are named, with the reason of each.
std::span<const Rule> placed_loop_rules();

/// Merges loops, and moves products out of them. `placing`: as the graph will be placed. Whether anything changed.
bool rewrite_placed_loops(expr::Graph& graph, const PlaceOptions& placing, const Options& options, Fired& fired);

}  // namespace croton::rewrite
