#include "runtime/simulator/driver.hpp"

#include <fmt/format.h>

#include <croton/error.hpp>
#include <cstring>
#include <optional>

#include "base/memory.hpp"
#include "runtime/simulator/checks.hpp"
#include "runtime/simulator/random_order.hpp"
#include "runtime/simulator/threads.hpp"

namespace croton::runtime::simulator {
namespace {

void check_shape(const std::string& kernel, const LaunchShape& shape, std::size_t shared_bytes) {
  if (shape.blocks == 0 || shape.threads == 0 || shape.threads > Limits::threads_per_block) {
    throw DeviceError(
        fmt::format("kernel {} cannot run as {} blocks of {} threads: a launch needs at least one block, and 1 to {} "
                    "threads in it",
                    kernel, shape.blocks, shape.threads, Limits::threads_per_block));
  }
  if (shape.dynamic_shared > Limits::shared_bytes_per_block ||
      shared_bytes + shape.dynamic_shared > Limits::shared_bytes_per_block) {
    throw DeviceError(fmt::format("kernel {} asks for {} + {} bytes of shared memory: a block has {}", kernel,
                                  shared_bytes, shape.dynamic_shared, Limits::shared_bytes_per_block));
  }
}

// What the kernel's own variables take, without what guards them in checked programs.
std::size_t variable_bytes(const Program& program) {
  std::size_t bytes = 0;
  for (const auto& variable : program.shared_variables()) bytes += variable.size;
  return bytes;
}

}  // namespace

void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
            std::span<void* const> arguments, const DeviceMemory& memory, std::uint64_t seed) {
  const Program::Kernel found = program.kernel(kernel);
  if (found.parameters != arguments.size()) {
    throw InternalError(
        fmt::format("kernel {} has {} parameters, launched with {}", kernel, found.parameters, arguments.size()));
  }
  check_shape(kernel, shape, variable_bytes(program));

  // The gap at the end is for the checks: an index too large in the dynamic part is still told to be about shared
  // memory.
  const std::size_t shared_bytes = program.shared_bytes() + shape.dynamic_shared + (program.is_checked() ? 64 : 0);
  const auto shared_owner = base::allocate_shared_memory(shared_bytes + Limits::shared_alignment);
  auto* shared = static_cast<std::byte*>(shared_owner.get());
  shared += -reinterpret_cast<std::uintptr_t>(shared) % Limits::shared_alignment;
  const Range shared_range = {reinterpret_cast<std::uintptr_t>(shared), shared_bytes};

  std::optional<AccessChecker> checker;
  if (program.is_checked()) checker.emplace(program, memory.allocations(), shared_range, shape.dynamic_shared);
  std::vector<void*> pointers(arguments.begin(), arguments.end());
  Block block(program, found.entry, pointers.data(), shape.blocks, shape.threads, shared, checker ? &*checker : nullptr,
              seed);

  for (const unsigned index : RandomOrder(seed).numbers(shape.blocks)) {
    // Shared memory holds what the last block left, as on a GPU; nan is what shows best that someone relies on it.
    std::memset(shared, 0xff, shared_bytes);
    if (const auto wrong = block.run(index)) {
      throw DeviceError(fmt::format("simulated kernel {} stopped in block {}, {}", kernel, index, *wrong));
    }
  }
}

}  // namespace croton::runtime::simulator
