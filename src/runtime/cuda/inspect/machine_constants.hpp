// The constants of the model of a launch (launch_model.hpp). They are measured: change them only together with the
// report that they come from.
#pragma once

#include <cstdint>
#include <string_view>

namespace croton::runtime::cuda {

struct MachineConstants {
  std::string_view name, report;
  int multiprocessors;
  std::int64_t cache_bytes;        // of the second level
  double copy_bytes_per_second;    // read and written by a large copy
  double attainable_share;         // of that rate: the goal of kernels that are limited by memory
  double instructions_per_second;  // of single threads, when every scheduler issues in each cycle
  double access_seconds;           // from a request of memory to its use, in a kernel that has little else to do
  double cache_access_seconds;     // the same if the second level of the cache has it
  double launch_seconds;           // a launch that needs the results of the one before
};

/// Copy, clock (1980 MHz) and multiprocessors are in the report's first lines; instructions: 132 multiprocessors with 4
/// schedulers of 32 lanes each. access_seconds: the sum over axis 0 of 16384 x 8192 elements, where each thread joins a
/// column with four loads under way, takes 1.91 ms (2026-11-28-gpu-check-nvidia-h200.md). cache_access_seconds: there
/// the sum of all elements, of which one thread joins 8192 parts, takes 0.94 ms longer than its memory. launch_seconds:
/// item 25 of the report, in a stream.
inline constexpr MachineConstants h200{.name = "NVIDIA H200",
                                       .report = "bench/results/2026-11-28-gpu-variants-nvidia-h200.md",
                                       .multiprocessors = 132,
                                       .cache_bytes = 62914560,
                                       .copy_bytes_per_second = 4.229e12,
                                       .attainable_share = 0.92,
                                       .instructions_per_second = 132.0 * 4 * 32 * 1.98e9,
                                       .access_seconds = 0.47e-6,
                                       .cache_access_seconds = 0.115e-6,
                                       .launch_seconds = 1.3e-6};

}  // namespace croton::runtime::cuda
