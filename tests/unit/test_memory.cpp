// Host memory: alignment, reuse, limits, and failed allocations.
#include <croton/array.hpp>

#include <cstring>
#include <thread>
#include <vector>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "catch.hpp"
#include "contains.hpp"

using croton::Array;
using croton::DType;
namespace base = croton::base;

namespace {

/// Sets the limit of kept blocks for a test, and restores it.
class KeepLimit {
 public:
  explicit KeepLimit(std::size_t bytes) : before_(base::memory_counters().keep_limit) {
    base::trim_memory();
    base::set_memory_keep_limit(bytes);
  }
  ~KeepLimit() { base::set_memory_keep_limit(before_); }
  KeepLimit(const KeepLimit&) = delete;
  KeepLimit& operator=(const KeepLimit&) = delete;

 private:
  std::size_t before_;
};

}  // namespace

TEST_CASE("blocks are aligned and wholly writable", "[memory]") {
  for (std::size_t bytes = 0; bytes < 20'000'000; bytes = bytes * 5 / 4 + 1) {
    const auto block = base::allocate_shared_memory(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block.get()) % base::memory_alignment == 0);
    std::memset(block.get(), 0xAB, bytes);
  }
}

TEST_CASE("released blocks are used again for sizes near theirs", "[memory]") {
  const KeepLimit limit(std::size_t{64} << 20);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{6} << 20}) {
    void* first = base::allocate_memory(bytes);
    base::release_memory(first, bytes);
    const auto before = base::memory_counters();
    void* second = base::allocate_memory(bytes);
    CHECK(second == first);
    CHECK(base::memory_counters().system_allocations == before.system_allocations);
    CHECK(base::memory_counters().allocations == before.allocations + 1);
    base::release_memory(second, bytes);
  }
  CHECK(base::memory_counters().bytes_kept > (std::size_t{6} << 20));
  base::trim_memory();
  CHECK(base::memory_counters().bytes_kept == 0);
}

TEST_CASE("rounding wastes at most a quarter", "[memory]") {
  const KeepLimit limit(0);
  for (const std::size_t bytes : {std::size_t{65}, std::size_t{1000}, std::size_t{1} << 20, (std::size_t{1} << 20) + 1,
                                  std::size_t{3'000'000}, std::size_t{4'100'000}, std::size_t{9'000'000}}) {
    const auto before = base::memory_counters().bytes_in_use;
    const auto block = base::allocate_shared_memory(bytes);
    const auto used = base::memory_counters().bytes_in_use - before;
    CHECK(used >= bytes);
    CHECK(used <= std::max(bytes + bytes / 4 + 64,
                           (bytes + (std::size_t{2} << 20)) * (bytes > (std::size_t{2} << 20) ? 1 : 0)));
  }
}

TEST_CASE("no more is kept than the limit", "[memory]") {
  const KeepLimit limit(100'000);
  std::vector<std::shared_ptr<void>> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(base::allocate_shared_memory(10'000));
  blocks.push_back(base::allocate_shared_memory(200'000));
  blocks.clear();
  CHECK(base::memory_counters().bytes_kept <= 100'000);
  CHECK(base::memory_counters().bytes_kept > 0);
}

TEST_CASE("live blocks are counted", "[memory]") {
  const auto before = base::memory_counters();
  {
    const Array array = Array::zeros(DType::float32, {10});
    const Array view = array.slice(0, 0, 5);
    CHECK(base::memory_counters().live_blocks == before.live_blocks + 1);
  }
  CHECK(base::memory_counters().live_blocks == before.live_blocks);
  CHECK(base::memory_counters().bytes_in_use == before.bytes_in_use);
}

TEST_CASE("a size that cannot be had is named", "[memory]") {
  CHECK_THROWS_AS(base::allocate_memory(SIZE_MAX), croton::OutOfMemory);
  CHECK_THROWS_WITH(base::allocate_memory(std::size_t{1} << 61), contains("2305843009213693952 bytes (2.0 EiB)"));
  CHECK_THROWS_AS(Array::empty(DType::float64, {std::int64_t{1} << 57}), croton::OutOfMemory);
}

TEST_CASE("each allocation of a function can be made to fail, and none leaks", "[memory]") {
  const Array array = Array::arange(100, DType::float32);
  const auto live = base::memory_counters().live_blocks;
  std::int64_t failing = 0;
  for (std::int64_t nth = 1;; ++nth) {
    const base::FailAllocation fault(nth);
    try {
      const Array result = Array::uniform(DType::float16, {5}, 1).astype(DType::int32);
      CHECK(fault.failures() == 0);
      break;
    } catch (const croton::OutOfMemory&) {
      ++failing;
      CHECK(fault.failures() == 1);
    }
    CHECK(base::memory_counters().live_blocks == live);
  }
  CHECK(failing == 3);  // numbers in double, in float16, in int32
  {
    const base::FailAllocation all(2, base::FailAllocation::forever);
    CHECK_NOTHROW(array.copy());
    CHECK_THROWS_AS(array.copy(), croton::OutOfMemory);
    CHECK_THROWS_AS(array.copy(), croton::OutOfMemory);
    CHECK(all.failures() == 2);
  }
  CHECK_NOTHROW(array.copy());
}

TEST_CASE("threads share the pool", "[memory]") {
  const KeepLimit limit(std::size_t{16} << 20);
  const auto live = base::memory_counters().live_blocks;
  std::vector<std::thread> threads;
  std::vector<int> faults(4, 0);
  for (std::size_t t = 0; t < faults.size(); ++t) {
    threads.emplace_back([t, &faults] {
      for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t bytes = (i * 7919 + t * 31) % 5000 + 1;
        const auto block = base::allocate_shared_memory(bytes);
        auto* at = static_cast<unsigned char*>(block.get());
        std::memset(at, static_cast<int>(t + 1), bytes);
        for (std::size_t b = 0; b < bytes; b += 97) faults[t] += at[b] != t + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == std::vector<int>(4, 0));
  CHECK(base::memory_counters().live_blocks == live);
}

TEST_CASE("checked arithmetic tells what does not fit", "[memory]") {
  CHECK(base::checked_mul<std::int64_t>(1 << 20, 1 << 20) == std::int64_t{1} << 40);
  CHECK_FALSE(base::checked_mul(INT64_MAX, std::int64_t{2}));
  CHECK(base::checked_add(INT64_MAX, std::int64_t{0}) == INT64_MAX);
  CHECK_FALSE(base::checked_add(INT64_MAX, std::int64_t{1}));
  CHECK_FALSE(base::checked_sub(std::size_t{0}, std::size_t{1}));
  CHECK(base::checked_cast<std::int32_t>(std::int64_t{5}) == 5);
  CHECK_FALSE(base::checked_cast<std::int32_t>(std::int64_t{1} << 31));
  CHECK_FALSE(base::checked_cast<std::uint64_t>(-1));
}
