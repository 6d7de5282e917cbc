// Occupancy: how many blocks of a kernel a multiprocessor runs at the same time, by the limits of its architecture.
#pragma once

#include <cstdint>
#include <string_view>

namespace croton::codegen {

/// The limits of one multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities").
struct MultiprocessorLimits {
  std::string_view architecture;
  int warps, blocks, shared_bytes;  // shared memory of all blocks, with the part that the system reserves for each
};

/// The limits of "sm_90" and its variants. ValueError, with the names that are known, for other names.
MultiprocessorLimits limits_of(std::string_view architecture);

/// Those of GPUs that are not known.
inline constexpr MultiprocessorLimits usual_limits{"sm_90", 64, 32, 228 * 1024};

/// The same, but usual_limits for names that are not known.
MultiprocessorLimits limits_or_usual(std::string_view architecture);

/// The shared memory that one block of a kernel may have; 48 KiB, which every GPU has, for architectures that are not
/// known.
std::int64_t shared_bytes_of_block(std::string_view architecture);

struct BlockResources {
  std::int64_t threads = 0, registers = 0;  // registers of a thread
  std::int64_t shared_bytes = 0;            // static and dynamic
};

struct Occupancy {
  std::int64_t blocks = 0, warps = 0;  // resident on a multiprocessor
  double share = 0;                    // of the warps that it can have
  std::string_view limiter;            // "threads", "blocks", "registers" or "shared memory"
};

/// The occupancy by these resources alone, however few blocks a launch has.
Occupancy occupancy_of(const BlockResources& block, std::string_view architecture);
Occupancy occupancy_of(const BlockResources& block, const MultiprocessorLimits& limits);

}  // namespace croton::codegen
