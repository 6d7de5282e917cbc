// Turns updates of shared variables that are sums of products into gemm nodes.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// An update of a shared variable w by b * w + c * dot(x, y) + ... becomes a chain of gemm nodes: each adds a product
/// to the result of the one before, and no gradient is stored. A factor that is known only in a call, such as a
/// learning rate, is multiplied into an elementwise operand of the product, at no cost. Without `special_values`,
/// updates with such factors or with several products are not changed: their results could overflow or lose digits at
/// another point than in the user's expression.
void fold_updates(expr::Graph& graph, bool special_values);

}  // namespace croton::fuse
