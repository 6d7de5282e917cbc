// The choices of a variant that depend on sizes: among texts with the same result, the fastest.
#pragma once

#include "codegen/variant.hpp"

namespace croton::codegen {

/// Sets tile_axis and staged of a launch that has sizes and strides.
void choose_tiles(const Analysis& analysis, Launch& launch);

/// Chooses the axes along which the factors of a contraction are packed, for a launch that has sizes, and returns the
/// merged axes of the innermost loops. `stride`: [access][axis of the kernel].
std::vector<std::size_t> choose_runs(const Analysis& analysis, Launch& launch,
                                     const std::vector<std::vector<std::int64_t>>& stride,
                                     std::span<const Layout> operands);

}  // namespace croton::codegen
