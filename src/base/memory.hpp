// The allocator of host memory for elements. Blocks are aligned to 64 bytes; freed blocks are kept for reuse, because
// new pages cost more than the arithmetic on them; blocks of 4 MiB and more request huge pages. All functions may be
// called from any thread. Tests can count allocations and make any of them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace croton::base {

inline constexpr std::size_t memory_alignment = 64;

/// An uninitialised block, never null, of at least `bytes` bytes. OutOfMemory, which names the size, if there is no
/// memory even after the kept blocks were returned to the system.
void* allocate_memory(std::size_t bytes);
/// Releases a block of allocate_memory; `bytes` as in the allocation.
void release_memory(void* block, std::size_t bytes) noexcept;
/// A block that is released with its last reference.
std::shared_ptr<void> allocate_shared_memory(std::size_t bytes);

/// For memory of another allocator, such as a device's: OutOfMemory if a test makes this allocation fail.
void check_allocation(std::size_t bytes);

/// A check of free memory before work of a library that ends the process if an allocation fails. If there is not enough
/// memory for this object and all others that live, the constructor waits for them; OutOfMemory, which names the work,
/// if there is not enough even then. Nothing is reserved: other code may take some of the memory after the check, so
/// `bytes` should be ample.
class Headroom {
 public:
  Headroom(std::size_t bytes, std::string_view work);
  ~Headroom();
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

 private:
  std::size_t bytes_;
};

/// Returns all kept blocks to the system.
void trim_memory() noexcept;
/// The maximum of bytes in kept blocks: by default a quarter of the machine's memory (none under AddressSanitizer,
/// which could not see a use after release).
void set_memory_keep_limit(std::size_t bytes) noexcept;

struct MemoryCounters {
  std::uint64_t allocations = 0;         ///< blocks handed out since the start
  std::uint64_t system_allocations = 0;  ///< those of them that were not reused
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
  /// Allocations that were made to fail so far: 0 means that the test is past the last allocation.
  std::int64_t failures() const noexcept;
};

}  // namespace croton::base
