// Runs kernels of the simulated GPU. Blocks begin in an order drawn from a seed. Those of a cooperative launch are all
// resident; of another one as many as the seed says, from one to as many as the GPU holds. Resident blocks take turns
// at the places where their threads pause: barriers, shuffles, repeated reads of the same address. The seed may starve
// one of them: it continues only when no other one can.
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
/// The number of blocks of the shape that run at the same time: the maximum for a cooperative launch.
std::size_t resident_blocks(const Program& program, const LaunchShape& shape);

inline void launch(const Program& program, const std::string& kernel, const LaunchShape& shape,
                   std::span<void* const> arguments, const DeviceMemory& memory, std::uint64_t seed = 0) {
  launch(program, kernel, shape, arguments, memory.allocations(), seed);
}

}  // namespace croton::runtime::simulator
