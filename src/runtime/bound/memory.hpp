// Where the launches of a segment find their buffers.
#pragma once

#include <vector>

#include "codegen/variant.hpp"
#include "runtime/bound/sizes.hpp"

namespace croton::runtime {

/// How each buffer of a plan lies, and where it is in the present call, in the memory of its device.
struct Memory {
  base::IdVector<plan::BufferId, codegen::Layout> layouts;
  base::IdVector<plan::BufferId, char*> base;
};

/// How the buffers of a segment lie at these sizes; those of routines' workspaces are left out. OutOfMemory for those
/// that no memory could hold.
void find_layouts(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                  const SizeTable& sizes, Memory& memory);

}  // namespace croton::runtime
