// The references of lstm_forward and lstm_step: the cell and its gradient, written out step by step in float64.
#pragma once

#include <vector>

#include "matrix.hpp"

namespace bench {

/// The last state h. `in`: w, u, b, x.
std::vector<Values> lstm_forward_reference(const std::vector<Values>& in);
/// The losses of the first steps, then w, u and b after them. `in`: w, u, b, x, target.
std::vector<Values> lstm_step_reference(std::vector<Values> in);

}  // namespace bench
