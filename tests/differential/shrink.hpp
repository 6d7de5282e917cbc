// Reduces a failing case while it fails in the same way: fewer outputs, parts of the graph replaced by inputs with
// their values, plainer inputs, smaller sizes, simpler numbers.
#pragma once

#include "run.hpp"

namespace differential {

/// The smallest failure found; at most `attempts` cases are run.
Failure shrink(const Failure& failure, int attempts = 400);

}  // namespace differential
