// The shape of a launch, and the limits of the simulated GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace croton::runtime::simulator {

/// The limits of the simulated GPU: those of compute capability 9.0, with few multiprocessors.
struct Limits {
  static constexpr unsigned threads_per_block = 1024;
  static constexpr std::array<unsigned, 3> threads{1024, 1024, 64};
  static constexpr std::array<unsigned, 3> blocks{2147483647u, 65535, 65535};
  static constexpr std::size_t shared_bytes_per_block = 227 * 1024;
  static constexpr std::size_t shared_alignment = 1024;
  static constexpr std::size_t parameter_bytes = 32764;
  // The blocks that may run at once, for grid barriers. Few, since each thread has a stack, and a process about 65,000
  // mappings.
  static constexpr unsigned multiprocessors = 8;
  static constexpr unsigned threads_per_multiprocessor = 2048;
  static constexpr unsigned blocks_per_multiprocessor = 32;
};

/// Blocks and threads along x; the other two axes come last, because few kernels use them.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t dynamic_shared = 0;  // bytes of shared memory besides the kernel's own variables
  bool cooperative = false;        // all blocks run at the same time, and may use grid barriers
  std::array<unsigned, 2> more_blocks{1, 1}, more_threads{1, 1};  // along y and z

  // After so many steps a thread counts as endless: an iteration of a loop is one, an access 8, a wait 128.
  std::uint64_t max_steps = std::uint64_t{1} << 28;

  std::array<unsigned, 3> grid() const { return {blocks, more_blocks[0], more_blocks[1]}; }
  std::array<unsigned, 3> block() const { return {threads, more_threads[0], more_threads[1]}; }
  unsigned block_count() const { return blocks * more_blocks[0] * more_blocks[1]; }
  unsigned thread_count() const { return threads * more_threads[0] * more_threads[1]; }
};

/// Position `number` (x first) as its coordinates.
inline std::array<unsigned, 3> coordinates(const std::array<unsigned, 3>& sizes, unsigned number) {
  return {number % sizes[0], number / sizes[0] % sizes[1], number / sizes[0] / sizes[1]};
}

/// The coordinates as the author of the kernel knows them: "5", or "(5, 2, 0)" if there is more than one axis.
inline std::string name_of(const std::array<unsigned, 3>& sizes, unsigned number) {
  const auto [x, y, z] = coordinates(sizes, number);
  if (sizes[1] == 1 && sizes[2] == 1) return std::to_string(x);
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

}  // namespace croton::runtime::simulator
