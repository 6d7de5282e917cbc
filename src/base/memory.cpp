#include "base/memory.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>

#include "base/address_space.hpp"
#include "base/bytes_text.hpp"
#include "base/fork_safe_mutex.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"

namespace croton::base {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool hidden_from_sanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool hidden_from_sanitizer = true;
#else
constexpr bool hidden_from_sanitizer = false;
#endif
#else
constexpr bool hidden_from_sanitizer = false;
#endif

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t huge_block = std::size_t{4} << 20;
// No process has a larger address space (x86-64 and arm64 with four levels of page tables).
constexpr std::size_t largest_block = std::size_t{1} << 47;
constexpr std::size_t class_count = 64 * 4;

/// A header in the first bytes of a kept block, so that keeping a block allocates nothing.
struct KeptBlock {
  KeptBlock* next;
  std::size_t bytes;
};

/// Rounds up to one of four sizes per power of two, so that a block serves many sizes and wastes at most a fifth.
std::size_t rounded_size(std::size_t bytes) {
  bytes = std::max(bytes, memory_alignment);
  const std::size_t quarter = std::bit_ceil(bytes) / 8;
  const std::size_t step = std::max(quarter, bytes > huge_block - huge_page ? huge_page : memory_alignment);
  return round_up(bytes, step);
}

std::size_t class_of(std::size_t rounded) {
  const std::size_t power = to_size(std::bit_width(rounded - 1));
  return power * 4 + (((rounded - (std::size_t{1} << (power - 1))) >> (power - 3)) - 1);
}

void* allocate_from_system(std::size_t rounded) {
  const bool huge = rounded >= huge_block;
  void* block = std::aligned_alloc(huge ? huge_page : memory_alignment, rounded);
  // Only a hint: if the kernel refuses, small pages are used.
  if (block != nullptr && huge) madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

void free_list(KeptBlock* list) noexcept {
  while (list != nullptr) {
    KeptBlock* next = list->next;
    std::free(list);
    list = next;
  }
}

std::size_t default_keep_limit() {
  if (hidden_from_sanitizer) return 0;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::size_t{1} << 30;
  return to_size(pages) / 4 * to_size(page_bytes);
}

class Pool {
 public:
  /// Null if the system has no memory.
  void* allocate(std::size_t rounded) {
    if (void* block = reuse(rounded)) return block;
    void* block = allocate_from_system(rounded);
    if (block == nullptr) {
      free_list(take_all());
      block = allocate_from_system(rounded);
    }
    if (block != nullptr) count_allocation(rounded, true);
    return block;
  }

  void release(void* memory, std::size_t rounded) noexcept {
    KeptBlock* to_free = nullptr;
    {
      const std::lock_guard lock(mutex_);
      --counters_.live_blocks;
      counters_.bytes_in_use -= rounded;
      auto* block = new (memory) KeptBlock{nullptr, rounded};
      if (rounded > counters_.keep_limit) {
        to_free = block;
      } else {
        // Over the limit all kept blocks are freed, so that the kept blocks follow the sizes in use now.
        if (counters_.bytes_kept + rounded > counters_.keep_limit) to_free = take_all_locked();
        KeptBlock*& head = kept_[class_of(rounded)];
        block->next = head;
        head = block;
        counters_.bytes_kept += rounded;
      }
    }
    free_list(to_free);
  }

  KeptBlock* take_all() noexcept {
    const std::lock_guard lock(mutex_);
    return take_all_locked();
  }

  void set_keep_limit(std::size_t bytes) noexcept {
    KeptBlock* to_free = nullptr;
    {
      const std::lock_guard lock(mutex_);
      counters_.keep_limit = bytes;
      if (counters_.bytes_kept > bytes) to_free = take_all_locked();
    }
    free_list(to_free);
  }

  MemoryCounters counters() noexcept {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  /// True if a test makes this allocation fail.
  bool should_fail() noexcept {
    if (!may_fail_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(mutex_);
    if (fail_count_ == 0) return false;
    if (--fail_after_ > 0) return false;
    if (fail_count_ != FailAllocation::forever) --fail_count_;
    ++failures_;
    return true;
  }

  void plan_failures(std::int64_t nth, std::int64_t count) noexcept {
    const std::lock_guard lock(mutex_);
    fail_after_ = nth;
    fail_count_ = count;
    may_fail_ = count != 0;
    failures_ = 0;
  }

  std::int64_t failures() noexcept {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  void* reuse(std::size_t rounded) noexcept {
    const std::lock_guard lock(mutex_);
    KeptBlock*& head = kept_[class_of(rounded)];
    if (head == nullptr) return nullptr;
    KeptBlock* block = head;
    head = block->next;
    counters_.bytes_kept -= rounded;
    count_locked(rounded, false);
    return block;
  }

  void count_allocation(std::size_t rounded, bool from_system) noexcept {
    const std::lock_guard lock(mutex_);
    count_locked(rounded, from_system);
  }

  void count_locked(std::size_t rounded, bool from_system) noexcept {
    ++counters_.allocations;
    if (from_system) ++counters_.system_allocations;
    ++counters_.live_blocks;
    counters_.bytes_in_use += rounded;
  }

  KeptBlock* take_all_locked() noexcept {
    KeptBlock* all = nullptr;
    for (KeptBlock*& head : kept_) {
      while (head != nullptr) {
        KeptBlock* block = head;
        head = block->next;
        block->next = all;
        all = block;
      }
    }
    counters_.bytes_kept = 0;
    return all;
  }

  ForkSafeMutex& mutex_ = *new ForkSafeMutex;  // never destroyed, as the Pool
  std::array<KeptBlock*, class_count> kept_{};
  MemoryCounters counters_{.keep_limit = default_keep_limit()};
  std::atomic<bool> may_fail_{false};
  std::int64_t fail_after_ = 0;
  std::int64_t fail_count_ = 0;
  std::int64_t failures_ = 0;
};

/// Never destroyed: arrays in static storage are released after it would have been.
Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

std::string exact_bytes_text(std::size_t bytes) {
  return bytes < 1024 ? bytes_text(bytes) : fmt::format("{} bytes ({})", bytes, bytes_text(bytes));
}

[[noreturn]] void raise_out_of_memory(std::size_t bytes) {
  const MemoryCounters now = memory_counters();
  throw OutOfMemory(fmt::format("{} of host memory could not be allocated; {} are in use by arrays",
                                exact_bytes_text(bytes), exact_bytes_text(now.bytes_in_use)));
}

struct Releaser {
  std::size_t bytes;
  void operator()(void* block) const noexcept { release_memory(block, bytes); }
};

}  // namespace

void* allocate_memory(std::size_t bytes) {
  if (bytes > largest_block || pool().should_fail()) raise_out_of_memory(bytes);
  void* block = pool().allocate(rounded_size(bytes));
  if (block == nullptr) raise_out_of_memory(bytes);
  return block;
}

void release_memory(void* block, std::size_t bytes) noexcept { pool().release(block, rounded_size(bytes)); }

std::shared_ptr<void> allocate_shared_memory(std::size_t bytes) {
  void* block = allocate_memory(bytes);
  try {
    return {block, Releaser{bytes}};  // shared_ptr releases the block if it cannot allocate its counter
  } catch (const std::bad_alloc&) {
    raise_out_of_memory(bytes);
  }
}

void trim_memory() noexcept { free_list(pool().take_all()); }

void set_memory_keep_limit(std::size_t bytes) noexcept { pool().set_keep_limit(bytes); }

MemoryCounters memory_counters() noexcept { return pool().counters(); }

void check_allocation(std::size_t bytes) {
  if (pool().should_fail()) raise_out_of_memory(bytes);
}

namespace {

/// The bytes of all Headroom objects that live. Never destroyed: work may run while the process ends.
struct Headrooms {
  std::mutex mutex;
  std::condition_variable released;
  std::size_t bytes = 0;
};
Headrooms& headrooms() {
  static Headrooms& instance = *new Headrooms;
  return instance;
}

}  // namespace

bool could_map(std::size_t bytes) noexcept {
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) munmap(room, bytes);
  return room != MAP_FAILED;
}

Headroom::Headroom(std::size_t bytes, std::string_view work) : bytes_(bytes) {
  std::unique_lock lock(headrooms().mutex);
  for (bool trimmed = false; !could_map(headrooms().bytes + bytes);) {
    if (headrooms().bytes > 0) {
      headrooms().released.wait(lock);
    } else if (!trimmed) {
      trim_memory();
      trimmed = true;
    } else {
      throw OutOfMemory(fmt::format(
          "{} needs up to {}, which this process cannot get: it has a limit (ulimit -v), or the system has no more",
          work, exact_bytes_text(bytes)));
    }
  }
  headrooms().bytes += bytes;
}

Headroom::~Headroom() {
  {
    const std::lock_guard lock(headrooms().mutex);
    headrooms().bytes -= bytes_;
  }
  headrooms().released.notify_all();
}

FailAllocation::FailAllocation(std::int64_t nth, std::int64_t count) noexcept { pool().plan_failures(nth, count); }

FailAllocation::~FailAllocation() { pool().plan_failures(0, 0); }

std::int64_t FailAllocation::failures() const noexcept { return pool().failures(); }

}  // namespace croton::base
