// Bounds of the rounding errors in the results of a graph: a running error bound (Wilkinson 1963; Higham 2002, section
// 3.3), computed while the graph is evaluated in double precision. The bound of a node is the effect of the bounds of
// its inputs, found by computing the node again with each input changed by its bound, plus the rounding of the node: a
// few units for an elementwise function, (2 + log2 n) units of the sum of the absolute values for a sum of n terms, as
// Croton's trees of additions guarantee. If a decision (a comparison, a position) depends on a value that may have
// changed, the bound is infinite.
#pragma once

#include "expr/graph.hpp"

#include <croton/array.hpp>

#include <span>
#include <vector>

namespace croton::expr {

/// A root's value and the bound of each of its elements (float64, of the value's shape).
struct Bounded {
  Array value;
  Array bound;
};

/// The outputs, then the updates, of a graph in double precision, with bounds for a run whose floats have the unit
/// roundoff `unit` (2^-24 for float32). Inputs are assumed to be exact.
std::vector<Bounded> evaluate_bounded(const Graph& graph, std::span<const Array> inputs, double unit);

/// The unit roundoff of a float dtype, or of the parts of a complex one.
double unit_roundoff(DType dtype);
/// The largest unit roundoff of a graph's dtypes; that of float64 if it has no floats.
double unit_roundoff(const Graph& graph);

}  // namespace croton::expr
