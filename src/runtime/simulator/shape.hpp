// The shape of a launch on a simulated GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/simulator/architecture.hpp"

namespace croton::runtime::simulator {

/// Blocks and threads along x; the other two axes come last, because few kernels use them.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t dynamic_shared = 0;  // bytes of shared memory besides the kernel's own variables
  bool cooperative = false;        // all blocks run at the same time, and may use grid barriers
  bool strict = false;             // races by the strict order (order.hpp)
  const Architecture* architecture = &find_architecture(base::SimulatedArchitecture::sm_90);
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
