// Memory: the layouts and addresses of the buffers of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rounding.hpp"
#include "codegen/variant.hpp"
#include "runtime/bound/sizes.hpp"

namespace croton::runtime {

/// The layout of each buffer of a plan, and its address in the present call, in the memory of its device.
struct Memory {
  base::IdVector<plan::BufferId, codegen::Layout> layouts;
  base::IdVector<plan::BufferId, char*> base;
};

/// The room for a temporary in one block with others: each begins on a new cache line.
inline std::int64_t temporary_room(std::int64_t bytes) {
  constexpr std::int64_t alignment = 64;
  return base::round_up(bytes, alignment);
}

/// Finds the layouts of the buffers of a segment for these sizes, except those of workspaces. Raises OutOfMemory for
/// buffers that are too large for any memory.
void find_layouts(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                  const SizeTable& sizes, Memory& memory);

}  // namespace croton::runtime
