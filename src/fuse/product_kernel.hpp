// A product of matrices as a kernel of its own, for sizes where a library does not pay.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// The product as a kernel: result[..., i, j] = sum over k of left[..., i, k] right[..., k, j], scaled and added as the
/// call says. Views that are not stored are read through. `stored`: the nodes that have buffers.
KernelCall product_kernel(const expr::Graph& graph, const std::vector<bool>& stored, const ProductCall& product,
                          GeneratedProduct form);

}  // namespace croton::fuse
