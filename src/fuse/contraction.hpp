// Decides which sums become kernels of the family `contract`: sums of products with elements of windows as one
// factor, such as convolutions. The kernels read through views of their factors, but do not compute the factors again
// for each product.
#pragma once

#include "expr/arena.hpp"

#include <vector>

namespace croton::fuse {

/// Whether the node is a sum of products over more than a few elements (`unrolled_count`, node_work.hpp), where
/// one factor has elements of windows, and each factor is repeated along axes of the result along which the other
/// one is not.
bool is_contraction(const expr::Arena& arena, expr::NodeId node);

/// The nodes that must be in memory before such a sum runs: the inputs of the views, windows and casts that its factors
/// consist of.
std::vector<expr::NodeId> contraction_operands(const expr::Arena& arena, expr::NodeId node);

/// Whether the node is an unrolled sum of products of elements of windows and a computed factor that many windows
/// share. Each window would compute that factor again, so the operands of such a sum must be in memory too.
bool computes_filters(const expr::Arena& arena, expr::NodeId node);

}  // namespace croton::fuse
