// A graph in double precision, with which mode=verify compares results.
#pragma once

#include "expr/graph.hpp"

namespace croton::expr {

/// The graph with every float raised to float64 and every complex number to complex128: inputs, constants (their values
/// do not change), and dtypes in attributes. An op that does not accept these dtypes computes in the original ones.
/// Roots and inputs are in the order of `graph`; places are omitted.
Graph widened(const Graph& graph);

/// float64 for floats, complex128 for complex numbers, otherwise the same dtype.
DType wide(DType dtype);

}  // namespace croton::expr
