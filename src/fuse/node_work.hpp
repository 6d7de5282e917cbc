// How a node is computed: as a call of its own, by a loop that reduces, or from elements of its inputs.
#pragma once

#include "expr/arena.hpp"

#include <cstdint>
#include <span>

namespace croton::fuse {

using expr::NodeId;

/// Whether the op runs as a call of its own: a product, a transfer, a routine.
bool is_call(const expr::Op& op);

/// Whether the node is a reduction that takes a loop. Over stated sizes of 1 it is only another view, and over the few
/// elements of a window it is written out, as a map of them all.
bool reduces(const expr::Arena& arena, NodeId node);

/// How many elements a reduction over a few elements of windows puts together, their number being stated; else 0.
std::int64_t written_out(const expr::Arena& arena, NodeId node);

/// The inputs that elements of the node are made of: none for the position of an extreme among one, which is 0.
std::span<const NodeId> value_inputs(const expr::Arena& arena, NodeId node);

}  // namespace croton::fuse
