// The architecture of simulated GPUs: the limits of a compute capability (flag cuda_simulator_architecture).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/config.hpp"

namespace croton::runtime::simulator {

/// From the CUDA C++ Programming Guide, technical specifications per compute capability. Registers have no limit here.
struct Architecture {
  std::string_view name;  // "sm_90"
  int major = 0, minor = 0;
  unsigned threads_per_multiprocessor = 0;
  unsigned blocks_per_multiprocessor = 0;
  std::size_t shared_bytes_per_multiprocessor = 0;
  std::size_t reserved_shared_bytes = 0;  // of each resident block, for the system

  /// The maximum that a launch may give a block. More than static_shared_bytes only with dynamic shared memory.
  std::size_t shared_bytes_per_block() const { return shared_bytes_per_multiprocessor - reserved_shared_bytes; }
  /// The value of __CUDA_ARCH__.
  int number() const { return 100 * major + 10 * minor; }

  // Equal for all of them:
  static constexpr unsigned threads_per_block = 1024;
  static constexpr std::array<unsigned, 3> threads{1024, 1024, 64};
  static constexpr std::array<unsigned, 3> blocks{2147483647u, 65535, 65535};
  static constexpr std::size_t static_shared_bytes = 48 * 1024;  // of a block, in variables of the text
  static constexpr std::size_t parameter_bytes = 32764;          // since CUDA 12.1
};

/// Not a property of an architecture: few, since each thread of a grid barrier has a stack, and a process about 65,000
/// mappings.
inline constexpr unsigned multiprocessors = 8;

const Architecture& find_architecture(base::SimulatedArchitecture which);
/// That of the flag.
const Architecture& current_architecture();

}  // namespace croton::runtime::simulator
