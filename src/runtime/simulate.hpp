// One launch of a CUDA text on the simulated GPU: what mode=simulate runs in the place of compiled CPU code. Operands
// are copied to memory of the simulated device and back, so that a wrong address is found and not followed.
#pragma once

#include "codegen/emit.hpp"
#include "runtime/pending.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime {

/// A piece of host memory that the launch reads or writes.
struct SimulatedOperand {
  void* host = nullptr;
  std::size_t bytes = 0;
  bool written = false;
};

/// A parameter of the launch that points into an operand.
struct SimulatedPointer {
  std::size_t parameter;
  void* host;           // where the operand begins
  std::int64_t offset;  // in bytes
};

struct SimulatedLaunch {
  const codegen::Text* text = nullptr;
  std::span<const SimulatedOperand> operands;
  std::span<const SimulatedPointer> pointers;
  std::vector<std::uint64_t> parameters;  // with holes for pointers, failure and workspace
  std::int64_t items = 0;                 // points, parts of a split kernel, or tiles of a group
  int blocks = 1, threads = 32;
  std::uint64_t seed = 0;  // of the order of threads
};

/// Runs it, with all checks of the simulator; results stay on the device until they are asked for. `failure`: three
/// words, as ct::Failure. DeviceError if the kernel does what no kernel may.
std::unique_ptr<PendingResult> simulate(const SimulatedLaunch& launch, std::uint32_t* failure);

/// For tests of the templates: `change` is applied to each text before the simulator compiles it, from now on; what was
/// compiled is forgotten. An empty function ends it.
void change_simulated_texts(std::function<std::string(std::string)> change);

}  // namespace croton::runtime
