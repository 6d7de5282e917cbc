// Runs kernels of the simulated GPU: grids of blocks, one block after another in an order drawn from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/memory.hpp"

namespace croton::runtime::simulator {

/// What the simulated GPU allows; the figures of compute capability 9.0.
struct Limits {
  static constexpr unsigned threads_per_block = 1024;
  static constexpr std::size_t shared_bytes_per_block = 227 * 1024;
  static constexpr std::size_t shared_alignment = 1024;
};

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t dynamic_shared = 0;  // bytes of shared memory besides the kernel's own variables
};

/// Runs a kernel to its end. `arguments` are pointers to the arguments, as cuLaunchKernel takes them. The order of
/// blocks and threads follows from `seed`; results of a correct kernel do not depend on it.
///
/// DeviceError where the shape is beyond the limits, where threads wait for others that do not come, and, for checked
/// programs, where an access is out of bounds, misaligned or a race in shared memory: then it names kernel, block,
/// thread, address and line, the access itself has not happened, and what the kernel wrote before stays. Several
/// threads may launch at once.
void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
            std::span<void* const> arguments, const DeviceMemory& memory, std::uint64_t seed = 0);

}  // namespace croton::runtime::simulator
