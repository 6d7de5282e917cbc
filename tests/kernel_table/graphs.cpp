#include "graphs.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace croton::kernel_table {

SharedVariable unbacked(DType dtype, Sizes shape, const std::string& name) {
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  bytes = std::max<std::size_t>(bytes, 1);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const std::shared_ptr<void> owner(memory, [bytes](void* at) { ::munmap(at, bytes); });
  return shared(Array::adopt(owner, memory, dtype, std::move(shape)), {.name = name, .borrow = true});
}

std::vector<NamedGraph> all_graphs() {
  std::vector<NamedGraph> graphs;
  add_elementwise_graphs(graphs);
  add_movement_graphs(graphs);
  add_reduction_graphs(graphs);
  add_other_graphs(graphs);
  add_step_graphs(graphs);
  return graphs;
}

}  // namespace croton::kernel_table
