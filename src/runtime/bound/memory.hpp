// Memory: the layouts and addresses of the buffers of a plan.
#pragma once

#include <vector>

#include "codegen/variant.hpp"
#include "runtime/bound/sizes.hpp"

namespace croton::runtime {

/// The layout of each buffer of a plan, and its address in the present call, in the memory of its device.
struct Memory {
  base::IdVector<plan::BufferId, codegen::Layout> layouts;
  base::IdVector<plan::BufferId, char*> base;
};

/// Finds the layouts of the buffers of a segment for these sizes, except those of workspaces. Raises OutOfMemory for
/// buffers that are too large for any memory.
void find_layouts(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                  const SizeTable& sizes, Memory& memory);

}  // namespace croton::runtime
