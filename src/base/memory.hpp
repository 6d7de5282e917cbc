// The one place where host memory for elements is allocated. Blocks are aligned to 64 bytes; freed blocks are kept for
// reuse, because fresh pages cost more than the arithmetic done on them; blocks of 4 MiB and more ask for huge pages.
// All functions may be called from any thread. Tests can make any allocation fail, and count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace croton::base {

inline constexpr std::size_t memory_alignment = 64;

/// An uninitialised block, never null, of at least `bytes`. OutOfMemory, which names the size, if it cannot be had even
/// after the kept blocks went back to the system.
void* allocate_memory(std::size_t bytes);
/// Takes back a block of allocate_memory; `bytes` as it was asked for.
void release_memory(void* block, std::size_t bytes) noexcept;
/// A block that goes back when its last reference does.
std::shared_ptr<void> allocate_shared_memory(std::size_t bytes);

/// For memory that comes from elsewhere, of a device: OutOfMemory where a test wants this allocation to fail.
void check_allocation(std::size_t bytes);

/// Room for work of a library that ends the process where it gets no memory. Where there is not enough for this and
/// what others of these are alive for, it waits for them; OutOfMemory, which names the work, where there is none even
/// so. Nothing is kept: it is a question, and somebody else may take some of it after the answer, so `bytes` should be
/// ample.
class Headroom {
 public:
  Headroom(std::size_t bytes, std::string_view work);
  ~Headroom();
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

 private:
  std::size_t bytes_;
};

/// Gives all kept blocks back to the system.
void trim_memory() noexcept;
/// The most bytes of freed blocks that are kept: by default a quarter of the machine's memory (none under
/// AddressSanitizer, which could not see a use after release).
void set_memory_keep_limit(std::size_t bytes) noexcept;

struct MemoryCounters {
  std::uint64_t allocations = 0;         ///< blocks handed out since the start
  std::uint64_t system_allocations = 0;  ///< of them, those that were not reused
  std::uint64_t live_blocks = 0;         ///< handed out and not yet released
  std::size_t bytes_in_use = 0;          ///< in live blocks, with rounding
  std::size_t bytes_kept = 0;            ///< in blocks kept for reuse
  std::size_t keep_limit = 0;
};
MemoryCounters memory_counters() noexcept;

/// While it lives, the n-th allocation of the process from now (1 is the next) and the `count - 1` after it raise
/// OutOfMemory. For tests; one at a time.
class FailAllocation {
 public:
  static constexpr std::int64_t forever = INT64_MAX;
  explicit FailAllocation(std::int64_t nth, std::int64_t count = 1) noexcept;
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;
  /// Allocations made to fail so far: 0 tells a test that it has passed the last one.
  std::int64_t failures() const noexcept;
};

}  // namespace croton::base
