// Updates of shared variables that are products.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// b * w + c * dot(x, y) + ..., w a shared variable that this value replaces, becomes gemm nodes, one that adds to
/// another: the products add themselves to w, and no gradient is stored. A factor that only a call brings, such as a
/// learning rate, goes to a side of the product that is computed element by element, for nothing. Without
/// `special_values` neither such factors nor sums of several products: the result may overflow, or lose digits, in
/// another place than it was written.
void fold_updates(expr::Graph& graph, bool special_values);

}  // namespace croton::fuse
