// Which sums become kernels of the family `contract`: those of products of what is under windows and something else,
// such as convolutions are. What their factors are made of is read through, but not computed again for each product.
#pragma once

#include "expr/arena.hpp"

#include <vector>

namespace croton::fuse {

/// Whether the node is a sum over more than a few elements (`written_out`, node_work.hpp) of products, one factor being
/// elements of windows, where each factor is repeated along axes of the result along which the other one is not.
bool is_contraction(const expr::Arena& arena, expr::NodeId node);

/// What has to be in memory before such sums run: below its factors, behind views, windows and casts.
std::vector<expr::NodeId> contraction_operands(const expr::Arena& arena, expr::NodeId node);

/// Whether the node is a sum that is written out, of products of elements of windows and something computed that many
/// windows share: they would compute it again. Its operands are in memory too.
bool computes_filters(const expr::Arena& arena, expr::NodeId node);

}  // namespace croton::fuse
