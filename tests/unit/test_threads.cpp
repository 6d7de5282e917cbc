// The thread pool: chunks cover the range once and depend only on sizes; regions may nest, collide and fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "runtime/cpu/threads/threads.hpp"

#include <croton/croton.hpp>

namespace {

using croton::runtime::cpu::ThreadPool;
using Chunks = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sets the number of threads for one test.
struct WithThreads {
  explicit WithThreads(int count) { ThreadPool::instance().set_threads(count); }
  ~WithThreads() { ThreadPool::instance().set_threads(0); }
};

Chunks chunks_of(std::int64_t n, std::int64_t grain) {
  std::mutex mutex;
  Chunks chunks;
  ThreadPool::instance().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    chunks.emplace_back(begin, end);
  });
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

}  // namespace

TEST_CASE("the pool has at least one thread and refuses senseless numbers", "[threads]") {
  auto& pool = ThreadPool::instance();
  pool.set_threads(0);
  CHECK(pool.threads() == ThreadPool::usable_cores());
  CHECK(pool.threads() >= 1);
  CHECK_THROWS_AS(pool.set_threads(-1), croton::ValueError);
  CHECK_THROWS_AS(pool.set_threads(1025), croton::ValueError);
}

TEST_CASE("chunks are contiguous, even, and the same every time", "[threads]") {
  WithThreads three(3);
  CHECK(chunks_of(10, 1) == Chunks{{0, 4}, {4, 7}, {7, 10}});
  CHECK(chunks_of(10, 5) == Chunks{{0, 5}, {5, 10}});
  CHECK(chunks_of(10, 10) == Chunks{{0, 10}});
  CHECK(chunks_of(2, 1) == Chunks{{0, 1}, {1, 2}});
  CHECK(chunks_of(3, 0) == Chunks{{0, 1}, {1, 2}, {2, 3}});
  CHECK(chunks_of(0, 1).empty());
  CHECK(chunks_of(-4, 1).empty());
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK(chunks_of(huge, 1).back().second == huge);
  for (int i = 0; i < 200; ++i) REQUIRE(chunks_of(10, 1) == Chunks{{0, 4}, {4, 7}, {7, 10}});
}

TEST_CASE("every element is visited once, for any number of threads", "[threads]") {
  for (int threads = 1; threads <= 5; ++threads) {
    WithThreads set(threads);
    for (int round = 0; round < 300; ++round) {
      std::vector<int> visits(static_cast<std::size_t>(1 + round), 0);
      ThreadPool::instance().parallel_for(round + 1, 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      REQUIRE(std::all_of(visits.begin(), visits.end(), [](int count) { return count == 1; }));
    }
  }
}

TEST_CASE("work that is not larger than the grain stays on the calling thread", "[threads]") {
  WithThreads four(4);
  const auto caller = std::this_thread::get_id();
  ThreadPool::instance().parallel_for(100, 100, [&](std::int64_t begin, std::int64_t end) {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(begin == 0);
    CHECK(end == 100);
  });
}

TEST_CASE("other threads do take part", "[threads]") {
  WithThreads two(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  // The caller's chunk waits (with a limit) until the other one starts in another thread.
  ThreadPool::instance().parallel_for(2, 1, [&](std::int64_t begin, std::int64_t) {
    if (std::this_thread::get_id() != caller) helped = true;
    for (int i = 0; begin == 0 && i < 10000 && !helped; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  CHECK(helped);
}

TEST_CASE("the pool counts parts that other threads did, and those that the caller took back", "[threads]") {
  WithThreads two(2);
  const auto counted = [](auto&& body) {
    const auto before = ThreadPool::parts_of_thread();
    ThreadPool::instance().parallel_for(2, 1, body);
    const auto after = ThreadPool::parts_of_thread();
    return std::pair(after.offered - before.offered, after.by_workers - before.by_workers);
  };
  std::atomic<bool> begun{false};
  const auto helped = counted([&](std::int64_t begin, std::int64_t) {
    if (begin == 1) begun = true;
    for (int i = 0; begin == 0 && i < 10000 && !begun; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  CHECK(helped == std::pair<std::uint64_t, std::uint64_t>(1, 1));
  ThreadPool::instance().set_threads(1);
  CHECK(counted([](std::int64_t, std::int64_t) {}) == std::pair<std::uint64_t, std::uint64_t>(0, 0));
}

TEST_CASE("functions count the parts of their kernels that other threads did", "[threads]") {
  namespace ct = croton;
  WithThreads two(2);
  const auto x = ct::vector("x");
  const auto f = ct::function({x}, ct::exp(x));
  const auto big = ct::Array::zeros(ct::DType::float32, {4 << 20});
  for (int i = 0; i < 100 && f.counts().worker_parts == 0; ++i) f(big);
  const ct::CallCounts counts = f.counts();
  CHECK(counts.offered_parts >= counts.calls);  // at least one of the two parts of each call
  CHECK(counts.worker_parts >= 1);
  CHECK(counts.worker_parts <= counts.offered_parts);
  const auto g = ct::function({x}, ct::exp(x));
  g(ct::Array::zeros(ct::DType::float32, {10}));
  CHECK(g.counts().offered_parts == 0);
}

TEST_CASE("a nested region runs inline", "[threads]") {
  WithThreads two(2);
  std::atomic<int> total{0}, moved{0};
  ThreadPool::instance().parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    const auto outer = std::this_thread::get_id();
    ThreadPool::instance().parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      if (std::this_thread::get_id() != outer) ++moved;
      total += static_cast<int>(end - begin);
    });
  });
  CHECK(total == 2000);
  CHECK(moved == 0);
}

TEST_CASE("regions of several callers do not wait for each other and stay whole", "[threads]") {
  WithThreads three(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::vector<int> values(64, 0);
        ThreadPool::instance().parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += static_cast<int>(i);
        });
        for (int i = 0; i < 64; ++i) wrong += values[static_cast<std::size_t>(i)] != i;
        if (round % 100 == 0) ThreadPool::instance().set_threads(2 + round / 100 % 2);
      }
    });
  for (auto& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("the pool works in a forked child and goes on in the parent", "[threads]") {
  WithThreads two(2);
  REQUIRE(chunks_of(10, 1).size() == 2);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // a hanging child is a failure, not a hanging test
#ifdef __SANITIZE_THREAD__
    ThreadPool::instance().set_threads(1);  // this sanitizer allows no new threads after a fork of a threaded process
#endif
    _exit(chunks_of(10, 1).back().second == 10 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(chunks_of(10, 1).size() == 2);
}
