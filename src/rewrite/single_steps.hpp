// Loops of one step, which need no loop.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

inline constexpr Rule single_step_rule{.name = "loop-single-step",
                                       .text = "loop",
                                       .reason = "a loop of one step is what its body does, which fuses with the rest"};

/// Puts the bodies of loops whose number of steps is stated as 1 in their place. Whether there were any; such loops in
/// these bodies are left for another time.
bool inline_single_steps(expr::Graph& graph, const Options& options, Fired& fired);

}  // namespace croton::rewrite
