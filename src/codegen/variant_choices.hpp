// The part of a variant that sizes decide: of the texts that give the same result, the one that takes least time.
#pragma once

#include "codegen/variant.hpp"

namespace croton::codegen {

/// Sets tile_axis and staged of a launch whose sizes and strides are found.
void choose_tiles(const Analysis& analysis, Launch& launch);

/// Along which axes the factors of a contraction are brought together, and which merged axes are walked by loops: those
/// are given, in a launch whose sizes are found. `stride`: [access][axis of the kernel].
std::vector<std::size_t> choose_runs(const Analysis& analysis, Launch& launch,
                                     const std::vector<std::vector<std::int64_t>>& stride,
                                     std::span<const Layout> operands);

}  // namespace croton::codegen
