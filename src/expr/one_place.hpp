// Values that are zero along an axis except at one place, such as where(eq(arange(n), p), g, 0), the gradient of
// a maximum.
#pragma once

#include "expr/arena.hpp"

#include <vector>

namespace croton::expr {

/// An axis of a node along which it is zero except where a counter equals a position.
struct OnePlace {
  std::size_t axis;  // of the node
  NodeId equal;      // eq(counter, position)
  NodeId position;   // operand of `equal`, with its axes; of size 1 along the counter's axis
  Ints axes;         // for each axis of `equal` the axis of the node, or -1
};

/// All such axes that are found through sums, products, choices, casts and dimshuffles.
std::vector<OnePlace> one_places(const Arena& arena, NodeId node);

}  // namespace croton::expr
