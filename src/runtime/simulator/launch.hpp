// Runs kernels of the simulated GPU: the blocks of a grid in an order drawn from a seed, one after another, or all at
// once if the launch is cooperative.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/simulator/compiler.hpp"
#include "runtime/simulator/memory.hpp"
#include "runtime/simulator/shape.hpp"

namespace croton::runtime::simulator {

/// Runs a kernel to its end, with the memory that it may touch. `arguments` are pointers to the arguments, as
/// cuLaunchKernel takes them. The order of blocks and threads follows from `seed`; results of a correct kernel do not
/// depend on it.
///
/// DeviceError if the shape exceeds the limits, if threads wait for others that do not come, and, for checked programs,
/// if an access is out of bounds, misaligned, reads memory that was never written, or races. Then the message names
/// kernel, block, thread, address and line; the access itself has not happened, and earlier results of the kernel stay.
/// Several threads may launch at once.
void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
            std::span<void* const> arguments, const std::vector<Allocation>& memory, std::uint64_t seed = 0);
/// The number of blocks of `threads` threads without shared memory that run at the same time: the maximum for a
/// cooperative launch.
std::size_t resident_blocks(unsigned threads);

inline void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
                   std::span<void* const> arguments, const DeviceMemory& memory, std::uint64_t seed = 0) {
  launch(program, kernel, shape, arguments, memory.allocations(), seed);
}

}  // namespace croton::runtime::simulator
