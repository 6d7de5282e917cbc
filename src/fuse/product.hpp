// Products in the fuse stage: the views that a library reads through, and the choice between a library and a generated
// kernel (product_kernel.hpp).
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// Whether a product reads the node's input instead of the node. That is so for new leading axes, for the rows of
/// several matrices as one matrix, for reshapes without a copy, and for swapped last axes. True: the last two axes are
/// swapped; nothing: the product reads the node itself.
std::optional<bool> matrix_view(const expr::Arena& arena, NodeId node);

/// Whether the node is a reshape of a computed array, whose elements are contiguous in C order, so that no
/// copy is needed.
bool is_contiguous_reshape(const expr::Arena& arena, NodeId node);

/// The call of a product node. `stored`: the nodes that have buffers.
ProductCall product_call(const expr::Graph& graph, const std::vector<Stored>& stored, NodeId id);

}  // namespace croton::fuse
