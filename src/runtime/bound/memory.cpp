#include "runtime/bound/memory.hpp"

#include "base/shape.hpp"

namespace croton::runtime {

void find_layouts(const Executable& executable, const CallArrays& arrays, fuse::SegmentId segment,
                  const SizeTable& sizes, Memory& memory) {
  using plan::Buffer;
  const expr::Arena& arena = executable.program.graph.arena;
  const auto& buffers = executable.plan.buffers;
  memory.layouts.resize(buffers.size());
  memory.base.resize(buffers.size());
  for (const plan::BufferId b : buffers.ids()) {
    const Buffer& buffer = buffers[b];
    if (buffer.segment != segment || buffer.role == Buffer::Role::workspace) continue;
    std::vector<std::int64_t> shape;
    for (const NodeId dim : arena.type(buffer.node).shape) shape.push_back(sizes[arena.representative(dim)]);
    base::byte_count(shape, arena.type(buffer.node).dtype);  // raises before anything is allocated
    codegen::Layout layout = codegen::Layout::contiguous(shape);
    if (buffer.role == Buffer::Role::argument) {
      const Array& array = *arrays.arguments[buffer.number];
      if (!array.is_contiguous()) {
        const auto item = static_cast<std::int64_t>(size_of(array.dtype()));
        for (std::size_t d = 0; d < shape.size(); ++d) layout.strides[d] = array.strides()[d] / item;
      }
    }
    memory.layouts[b] = std::move(layout);
  }
}

}  // namespace croton::runtime
