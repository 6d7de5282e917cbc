// What NumpyRandomStreams draws when a function is called: by NumPy's legacy generator in Theano's order, on the host.
// Each has one state.
#pragma once

#include "ops/random/host_draw.hpp"

namespace croton::ops {

// Parameters broadcast to the shape.
Array numpy_draw_uniform(HostDraw& draw);          ///< low, high
Array numpy_draw_normal(HostDraw& draw);           ///< mean, deviation
Array numpy_draw_binomial(HostDraw& draw);         ///< n, p
Array numpy_draw_random_integers(HostDraw& draw);  ///< low, high
Array numpy_draw_poisson(HostDraw& draw);          ///< lambda

/// From a vector, or from the whole numbers below a scalar; whether one may come twice; probabilities, or none.
Array numpy_draw_choice(HostDraw& draw);
/// Rows along the last axis, each 0 to its size - 1. No parameters.
Array numpy_draw_permutation(HostDraw& draw);
/// Rows of counts along the last axis, from n and rows of probabilities.
Array numpy_draw_multinomial(HostDraw& draw);

}  // namespace croton::ops
