// One launch of a kernel's CUDA text on the simulated GPU: what mode=simulate runs in the place of compiled CPU code. Operands are copied
// to memory of the simulated device and back, so that a wrong address is found and not followed.
#pragma once

#include "codegen/emit.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace croton::runtime {

struct SimulatedOperand {
  void* host = nullptr;
  std::size_t bytes = 0;
  bool written = false;
};

struct SimulatedLaunch {
  const codegen::Analysis* analysis = nullptr;
  const codegen::Launch* launch = nullptr;
  std::span<const std::int64_t> extents;
  std::span<const SimulatedOperand> operands;  // as the kernel's
  std::int64_t points = 0;                     // points, or parts of a split kernel
  std::uint64_t seed = 0;                      // of the order of threads
};

/// Runs it, with all checks of the simulator. `failure`: three words, as ct::Failure. DeviceError if the kernel does what no kernel may.
void simulate(const SimulatedLaunch& launch, std::uint32_t* failure);

}  // namespace croton::runtime
