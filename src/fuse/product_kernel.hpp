// A matrix product as a generated kernel, for sizes at which a library is slower.
#pragma once

#include "fuse/program.hpp"

namespace croton::fuse {

/// The product as a kernel: result[..., i, j] = sum over k of left[..., i, k] right[..., k, j], with the call's alpha,
/// beta and accumulate. Views that are not stored are read through. `stored`: the nodes that have buffers.
KernelCall product_kernel(const expr::Graph& graph, const std::vector<Stored>& stored, const ProductCall& product,
                          GeneratedProduct form);

}  // namespace croton::fuse
