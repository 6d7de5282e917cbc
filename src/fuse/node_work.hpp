// How a node is computed: as a separate call, by a loop that reduces, or from elements of its inputs.
#pragma once

#include "expr/arena.hpp"

#include <cstdint>
#include <span>

namespace croton::fuse {

using expr::NodeId;

/// Whether the op runs as a separate call: a product, a transfer, a callback, a loop, a branch or a routine.
bool is_call(const expr::Op& op);

/// Whether the node is a reduction that needs a loop. A reduction over stated sizes of 1 is only a view, and one over
/// the few elements of a window is unrolled into a map of these elements.
bool reduces(const expr::Arena& arena, NodeId node);

/// The number of elements of an unrolled reduction: one over a few elements of windows, whose number is stated. 0 for
/// other nodes.
std::int64_t unrolled_count(const expr::Arena& arena, NodeId node);

/// The inputs from whose values the node is computed. The position of the extreme of a single element is 0 and
/// needs no inputs.
std::span<const NodeId> value_inputs(const expr::Arena& arena, NodeId node);

}  // namespace croton::fuse
