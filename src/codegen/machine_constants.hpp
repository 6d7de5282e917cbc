// The constants of the models of a launch: that by which schedules are chosen (cost_model.hpp), and that of machine
// code (runtime/cuda/inspect/launch_model.hpp). Those of the H200 are measured: change them only together with the
// report that they come from. Those of other GPUs, which only explanations use, are of data sheets.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace croton::codegen {

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
  double block_seconds;            // from the end of a block to the first instruction of the next one
  double join_seconds;             // the warps of a block join their states, with barriers
  double publish_seconds;          // a block publishes a partial result, and finds out whether it is the last one
  double last_block_seconds;       // the last block begins to join the partial results of the others
  std::string_view architecture;
  // Additions and multiplications a second of large products by the library, by the size of their elements; float32
  // without TensorFloat-32.
  double product_rate_64, product_rate_32, product_rate_16;

  /// The time in which blocks meet: each publishes a result and waits for the last one, whose arrival it sees by an
  /// access of memory. A sum of measured parts, not measured itself.
  constexpr double meeting_seconds() const { return publish_seconds + last_block_seconds + access_seconds; }
};

/// Copy, clock (1980 MHz) and multiprocessors are in the report's first lines; instructions: 132 multiprocessors with 4
/// schedulers of 32 lanes each. access_seconds: the sum over axis 0 of 16384 x 8192 elements, where each thread joins a
/// column with four loads under way, takes 1.91 ms (2026-11-28-gpu-check-nvidia-h200.md). cache_access_seconds: there
/// the sum of all elements, of which one thread joins 8192 parts, takes 0.94 ms longer than its memory. launch_seconds:
/// item 25 of the report, in a stream. block_seconds: there 100,000 empty blocks take 61.6 microseconds. join_seconds:
/// item 15, softmax of rows of 1024 by 256 threads instead of 32. publish_seconds and last_block_seconds: together the
/// time that the last block adds to the sum of 2^20 elements, item 11; the share of each block is that which fits best
/// to sums of 16384 blocks, items 10 and 12. product_rate_32: 2026-11-28-gpu-check-nvidia-h200.md, "product_float32";
/// the others are three quarters of the data sheet's, which is the measured share of TensorFloat-32's.
inline constexpr MachineConstants h200{.name = "NVIDIA H200",
                                       .report = "bench/results/2026-11-28-gpu-variants-nvidia-h200.md",
                                       .multiprocessors = 132,
                                       .cache_bytes = 62914560,
                                       .copy_bytes_per_second = 4.229e12,
                                       .attainable_share = 0.92,
                                       .instructions_per_second = 132.0 * 4 * 32 * 1.98e9,
                                       .access_seconds = 0.47e-6,
                                       .cache_access_seconds = 0.115e-6,
                                       .launch_seconds = 1.3e-6,
                                       .block_seconds = 132 * 61.6e-6 / 100'000,
                                       .join_seconds = 0.3e-6,
                                       .publish_seconds = 0.5e-6,
                                       .last_block_seconds = 0.8e-6,
                                       .architecture = "sm_90",
                                       .product_rate_64 = 50e12,
                                       .product_rate_32 = 51.0e12,
                                       .product_rate_16 = 732e12};

/// The GPUs of which explanations know something, the H200 first.
std::span<const MachineConstants> known_machines();
/// The machine with this name, or a part of it, in letters of any case: "H100", "rtx 4090". ValueError, with all names,
/// if there is none.
const MachineConstants& find_machine(std::string_view name);

}  // namespace croton::codegen
