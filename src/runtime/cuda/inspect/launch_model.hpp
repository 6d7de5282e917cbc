// The modelled time of a kernel's launches on a machine, from its sizes and its machine code: each launch takes the
// longest of three times, for its bytes, its instructions, and its chain of accesses, and a fixed time more. It tells
// what limits a kernel; it is no substitute for a measurement.
#pragma once

#include <croton/function.hpp>

#include <cstdint>
#include <span>
#include <string_view>

#include "codegen/machine_constants.hpp"
#include "codegen/occupancy.hpp"
#include "runtime/cuda/inspect/machine_code.hpp"

namespace croton::runtime::cuda {

using codegen::MachineConstants, codegen::Occupancy;

/// The compiler's results for one entry of a kernel.
struct EntryCode {
  KernelFacts facts;
  MachineCode code;
};

struct ModelledTime {
  double memory = 0;    ///< seconds: bytes by the attainable rate
  double issue = 0;     ///< seconds: instructions by the rate of the multiprocessors that have blocks
  double chain = 0;     ///< seconds: accesses that one thread makes one after the other
  double meetings = 0;  ///< seconds: blocks wait for each other
  double seconds() const;
  /// "memory", "instructions", "chain" or "meetings".
  std::string_view limiter() const;
};

/// Blocks and threads of a launch of an entry. The second entry of a long reduction is one block of a warp.
struct EntryLaunch {
  std::int64_t blocks = 0, threads = 0;
};
EntryLaunch launch_of(const KernelInfo& kernel, const EntryCode& entry);

/// Whether the entry is the second one of a long reduction, which joins its parts.
bool is_finish(const EntryCode& entry);

/// Blocks that a multiprocessor runs at the same time, by the resources of the entry.
Occupancy occupancy_of(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture);

/// Bytes under way on a multiprocessor: those of a thread, times the resident threads of the launch.
std::int64_t bytes_in_flight(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture,
                             const MachineConstants& machine);

/// Whether repeated reads of a kernel's loops come from memory: the points that run at the same time do not fit in the
/// cache, and no thread keeps its elements in registers.
bool rereads_memory(const KernelInfo& kernel, const EntryCode& main, std::string_view architecture,
                    const MachineConstants& machine);

/// Bytes from and to memory of all launches of the kernel: each operand once, and the repeated reads of its loops if
/// the points that run at the same time do not fit in the cache.
std::int64_t memory_bytes(const KernelInfo& kernel, const EntryCode& main, std::string_view architecture,
                          const MachineConstants& machine);

/// The largest number of partial results that one thread joins one after the other: blocks of a row, chunks of a
/// column, parts of a long reduction or of a running sum. 0 for kernels that join none.
std::int64_t serial_joins(const KernelInfo& kernel);

/// The time of one launch of an entry. Of contractions and loops only the time for bytes is known.
ModelledTime model_launch(const KernelInfo& kernel, const EntryCode& entry, std::string_view architecture,
                          const MachineConstants& machine);

}  // namespace croton::runtime::cuda
