// Inlining of loops of one step.
#pragma once

#include "rewrite/rewriter.hpp"

namespace croton::rewrite {

inline constexpr Rule single_step_rule{
    .name = "loop-single-step",
    .text = "loop",
    .reason = "a loop of one step is replaced by its body, which fuses with the rest"};

/// Replaces loops whose number of steps is stated as 1 by their bodies. Returns whether there were any; such loops
/// inside these bodies need another call.
bool inline_single_steps(expr::Graph& graph, const Options& options, Fired& fired);

}  // namespace croton::rewrite
