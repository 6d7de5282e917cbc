// Values that are zero along an axis but at one place: where(eq(arange(n), p), g, 0), as the gradient of a maximum is.
#pragma once

#include "expr/arena.hpp"

#include <vector>

namespace croton::expr {

/// An axis of a node along which it is zero but where a counter equals a position.
struct OnePlace {
  std::size_t axis;  // of the node
  NodeId equal;      // eq(counter, position)
  NodeId position;   // of those, with the axes of `equal`; of size 1 along the counter's
  Ints axes;         // for each axis of `equal` that of the node, or -1
};

/// All of them, as far as sums, products, choices, casts and views of axes lead.
std::vector<OnePlace> one_places(const Arena& arena, NodeId node);

}  // namespace croton::expr
