// The draws of NumpyRandomStreams when a function is called: by NumPy's legacy generator in Theano's order, on the
// host. Each draw has one state.
#pragma once

#include "ops/random/host_draw.hpp"

namespace croton::ops {

// The parameters broadcast to the shape.
Array numpy_draw_uniform(HostDraw& draw);          ///< low, high
Array numpy_draw_normal(HostDraw& draw);           ///< mean, deviation
Array numpy_draw_binomial(HostDraw& draw);         ///< n, p
Array numpy_draw_random_integers(HostDraw& draw);  ///< low, high
Array numpy_draw_poisson(HostDraw& draw);          ///< lambda

/// Parameters: a vector, or a scalar for the integers below it; whether to replace; optionally probabilities.
Array numpy_draw_choice(HostDraw& draw);
/// Permutations of 0, ..., size - 1 along the last axis. No parameters.
Array numpy_draw_permutation(HostDraw& draw);
/// Rows of counts along the last axis, from n and rows of probabilities.
Array numpy_draw_multinomial(HostDraw& draw);

}  // namespace croton::ops
