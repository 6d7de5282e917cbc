// The pool of threads that splits work on the CPU. A process has exactly one: two pools whose workers spin on each
// other's cores were measured to cost milliseconds a call.
//
// Promises: a region allocates nothing; the chunks depend on the work and the number of threads alone, not on the
// threads that run them; a region never waits for another one (a second caller and a nested region run inline), nor for
// a worker that the system has not woken yet: the caller takes its chunk back. Callers that work at the same time on
// purpose (runtime/lanes/lanes.hpp) have partitions: disjoint sets of the workers.
//
// After fork() the child's pool is empty and starts its own workers at its next use; do not fork inside a body.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace croton::runtime::cpu {

template <class T>
T& one_per_process(T* (*make)());
template <class T>
void end_workers_with_this_thread();

class ThreadPool {
 public:
  /// Does the work of [begin, end). Must not throw: parallel_for is noexcept.
  using Body = void (*)(void* context, std::int64_t begin, std::int64_t end);

  /// The pool of this process.
  static ThreadPool& instance();
  /// The number of cores that this process may use (sched_getaffinity), at least 1.
  static int usable_cores();

  /// Sets the number of threads of a region, the caller included, from the next region on; 0 means usable_cores().
  /// Throws ValueError outside 0 to 1024.
  void set_threads(int count);
  /// The number of threads of a region, the caller included.
  int threads() const { return threads_.load(std::memory_order_relaxed); }

  /// Calls `body` on contiguous chunks that cover [0, n) and returns when all are done. There are at most threads()
  /// chunks and at most n / grain rounded up, of sizes that differ by at most one. With n <= grain it is a plain call.
  /// `grain` is the amount of work that is worth waking another thread (30 to 50 us of work for a sleeping one).
  void parallel_for(std::int64_t n, std::int64_t grain, Body body, void* context) noexcept;

  /// The same for a callable f(begin, end), called by reference.
  template <class F>
  void parallel_for(std::int64_t n, std::int64_t grain, F&& f) noexcept {
    using Callable = std::remove_reference_t<F>;
    parallel_for(
        n, grain,
        [](void* context, std::int64_t begin, std::int64_t end) { (*static_cast<Callable*>(context))(begin, end); },
        const_cast<std::remove_const_t<Callable>*>(std::addressof(f)));
  }

  /// How the parts of regions were distributed.
  struct Parts {
    std::uint64_t offered = 0;     // to other threads
    std::uint64_t by_workers = 0;  // of these, those that other threads did; the caller did the others itself
  };
  /// Those of all regions of this thread so far.
  static Parts parts_of_thread() { return parts_; }

  /// The workers of a partition, for the regions of its thread.
  struct Team {
    std::int64_t first_worker;
    std::int64_t workers;
    bool busy;
  };
  /// Partitions the threads evenly among callers that work at the same time, while it lives; regions of other callers
  /// run inline meanwhile. If the pool is in use, or has fewer threads than callers, each partition is its caller
  /// alone.
  class Partitions {
   public:
    explicit Partitions(int callers);
    ~Partitions();
    Partitions(const Partitions&) = delete;
    Partitions& operator=(const Partitions&) = delete;

   private:
    friend class ThreadPool;
    bool entered_ = false;
    std::int64_t workers_ = 0;  // of each
  };
  /// While it lives, regions of this thread run in a partition. A thread has at most one.
  class InPartition {
   public:
    InPartition(const Partitions& partitions, int number);
    ~InPartition();
    InPartition(const InPartition&) = delete;
    InPartition& operator=(const InPartition&) = delete;

   private:
    Team team_;
  };

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

  template <class T>
  friend T& one_per_process(T* (*make)());
  template <class T>
  friend void end_workers_with_this_thread();

  ThreadPool();
  ~ThreadPool() = default;  // never runs: see instance()

  bool try_enter();
  void leave();
  std::int64_t start_workers(std::int64_t wanted);
  bool start_worker(std::int64_t number);
  void run_region(const Region& region, std::int64_t first_worker);
  void shut_down();
  void stop_workers();
  void forget_workers_after_fork();
  static void worker_main(Worker& worker);

  static constinit thread_local Parts parts_;
  static constinit thread_local Team* team_;

  std::atomic<int> threads_;
  const int usable_cores_;
  std::atomic<bool> busy_{false};                 // held by the caller whose region runs; guards the members below
  std::vector<std::unique_ptr<Worker>> workers_;  // grows, never shrinks: a worker's address is stable
};

}  // namespace croton::runtime::cpu
