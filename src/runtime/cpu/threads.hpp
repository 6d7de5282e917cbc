// The pool of threads that splits work on the CPU. There is one per process, and no other: two pools whose workers spin
// on each other's cores were measured to cost milliseconds a call.
//
// Promises: a region allocates nothing; which thread runs a chunk never changes the chunks, which depend on the work
// and the number of threads alone; a region never waits for another one (a second caller and a nested region run
// inline); a worker that the system has not woken yet is not waited for either, its chunk is taken back by the caller.
// After fork() the child's pool is empty and starts its own workers when next used; do not fork inside a body.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace croton::runtime::cpu {

class ThreadPool {
 public:
  /// Does the work of [begin, end). Must not throw: parallel_for is noexcept.
  using Body = void (*)(void* context, std::int64_t begin, std::int64_t end);

  /// The pool of this process.
  static ThreadPool& instance();
  /// The number of cores that this process may use (sched_getaffinity), at least 1.
  static int usable_cores();

  /// Sets the number of threads of a region, the caller included; 0 means usable_cores(). Holds from the next region
  /// on. Throws ValueError outside 0 to 1024.
  void set_threads(int count);
  /// The number of threads of a region, the caller included.
  int threads() const { return threads_.load(std::memory_order_relaxed); }

  /// Calls `body` on contiguous chunks that cover [0, n) and returns when all are done. There are at most threads()
  /// chunks and at most n / grain rounded up, of sizes that differ by at most one. With n <= grain it is a plain call.
  /// `grain` is the amount of work below which waking another thread does not pay (30 to 50 us of work for a sleeping
  /// one).
  void parallel_for(std::int64_t n, std::int64_t grain, Body body, void* context) noexcept;

  /// The same for a callable f(begin, end), called by reference.
  template <class F>
  void parallel_for(std::int64_t n, std::int64_t grain, F&& f) noexcept {
    using Callable = std::remove_reference_t<F>;
    parallel_for(
        n, grain,
        [](void* context, std::int64_t begin, std::int64_t end) { (*static_cast<Callable*>(context))(begin, end); },
        const_cast<void*>(static_cast<const void*>(std::addressof(f))));
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Worker;
  struct Region {
    Body body = nullptr;
    void* context = nullptr;
    std::int64_t n = 0;
    std::int64_t parts = 0;

    void run(std::int64_t part) const;
  };

  ThreadPool();
  ~ThreadPool() = default;  // never runs: see instance()

  bool try_enter();
  void leave();
  std::int64_t start_workers(std::int64_t wanted);
  bool start_worker(std::size_t index);
  void run_region(std::int64_t workers);
  void shut_down();
  void forget_workers_after_fork();
  static void* worker_main(void* worker);

  std::atomic<int> threads_;
  const int usable_cores_;
  std::atomic<bool> busy_{false};                 // held by the caller whose region runs; guards the members below
  Region region_;                                 // read by a worker only between taking and finishing its chunk
  std::vector<std::unique_ptr<Worker>> workers_;  // grows, never shrinks: a worker's address is stable
};

}  // namespace croton::runtime::cpu
