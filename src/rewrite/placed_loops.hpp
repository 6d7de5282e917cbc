// Rewrites of loops that depend on their device: they are faster on one device and slower on another.
#pragma once

#include "rewrite/place.hpp"
#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

/// The names of these rewrites, with the reason of each.
std::span<const Rule> placed_loop_rules();

/// Merges loops, and moves products out of them. `placing` are the options of the placement that follows. Returns
/// whether anything changed.
bool rewrite_placed_loops(expr::Graph& graph, const PlaceOptions& placing, const Options& options, Fired& fired);

}  // namespace croton::rewrite
