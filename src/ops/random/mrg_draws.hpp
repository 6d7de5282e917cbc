// The draws of MrgRandomStreams when a function is called: by Theano's formulas, in its order, on the host.
#pragma once

#include "ops/random/host_draw.hpp"

namespace croton::ops {

/// Numbers between 0 and 1. One state.
Array mrg_draw_uniform(HostDraw& draw);
/// Standard normal numbers. One state.
Array mrg_draw_normal(HostDraw& draw);
/// Standard normal numbers between -2 and 2. Two states: of the numbers, and of the numbers that are drawn again.
Array mrg_draw_truncated_normal(HostDraw& draw);

/// Counts (rows, classes) from uniform numbers, a matrix of probabilities and the number of trials: trial c of row i
/// has number c * rows + i. No state.
Array mrg_count_classes(HostDraw& draw);
/// Columns (rows, choices) from uniform numbers and a matrix of probabilities, without repetition in a row. No state.
Array mrg_choose_columns(HostDraw& draw);

}  // namespace croton::ops
