// A graph in double precision: what mode=verify holds the others against.
#pragma once

#include "expr/graph.hpp"

namespace croton::expr {

/// The graph with every float raised to float64 and every complex number to complex128: inputs, constants (whose values
/// stay), and what ops say of dtypes. An op that does not take them computes in its own precision. Roots and inputs
/// are in the order of `graph`, places are left out.
Graph widened(const Graph& graph);

/// float64 for floats, complex128 for complex numbers, else itself.
DType wide(DType dtype);

}  // namespace croton::expr
