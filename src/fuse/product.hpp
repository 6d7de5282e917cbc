// Products as the fuse stage sees them: folded into updates, and as kernels of their own for sizes where a library does
// not pay.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// b * w + c * dot(x, y) + ..., w a shared variable that this value replaces, becomes gemm nodes, one that adds to
/// another: the products add themselves to w, and no gradient is stored. A factor that only a call brings, such as a
/// learning rate, goes to a side of the product that is computed element by element, for nothing. Without
/// `special_values` neither such factors nor sums of several products: the result may overflow, or lose digits, in
/// another place than it was written.
void fold_updates(expr::Graph& graph, bool special_values);

/// Whether a product reads the node's input in its place: only new leading axes, the rows of several matrices as one,
/// or other sizes, which change nothing in memory, and perhaps the last two axes swapped. True: they are.
std::optional<bool> matrix_view(const expr::Arena& arena, NodeId node);

/// Whether the node is what is computed below it in other sizes: the elements lie in memory as they are wanted, side by
/// side in C order.
bool is_other_sizes(const expr::Arena& arena, NodeId node);

/// `stored`: the nodes that have buffers.
ProductCall product_call(const expr::Graph& graph, const std::vector<bool>& stored, NodeId id);

}  // namespace croton::fuse
