// Products as the fuse stage sees them: what a library reads of them, and when a kernel of their own
// (product_kernel.hpp) pays better.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// Whether a product reads the node's input in its place: only new leading axes, the rows of several matrices as one,
/// or other sizes, which change nothing in memory, and perhaps the last two axes swapped. True: they are.
std::optional<bool> matrix_view(const expr::Arena& arena, NodeId node);

/// Whether the node is what is computed below it in other sizes: the elements lie in memory as they are wanted, side by
/// side in C order.
bool is_other_sizes(const expr::Arena& arena, NodeId node);

/// `stored`: the nodes that have buffers.
ProductCall product_call(const expr::Graph& graph, const std::vector<bool>& stored, NodeId id);

}  // namespace croton::fuse
