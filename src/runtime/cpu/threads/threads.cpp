#include "runtime/cpu/threads/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <span>
#include <string>

#include <croton/error.hpp>

#include "base/signals.hpp"
#include "base/thread.hpp"
#include "runtime/cpu/threads/one_per_process.hpp"
#include "runtime/cpu/threads/spin.hpp"

namespace croton::runtime::cpu {
namespace {

constexpr int max_threads = 1024;
// Long enough for the serial work between two kernels, short enough to leave the core to others soon.
constexpr auto spin_time = std::chrono::microseconds(200);

// The state of a worker's slot. The caller offers a chunk; the thread that changes `offered` to another state runs it.
enum State : std::uint32_t { idle, offered, taken, stop };

}  // namespace

// Each has cache lines of its own (two: processors fetch them in pairs).
struct alignas(128) ThreadPool::Worker {
  std::atomic<std::uint32_t> state{idle};
  // Set around each sleep on `state`, so that a notification, which is a system call, is sent only if somebody sleeps.
  // All accesses to the flags and the state are sequentially consistent: if a thread changes the state and does not see
  // the flag, the sleeper sees the change before it sleeps.
  std::atomic<bool> worker_sleeps{false};
  std::atomic<bool> caller_sleeps{false};
  const Region* region = nullptr;  // that is offered
  std::int64_t part = 0;           // of the region
  bool spins = true;
  base::Thread thread;

  void set(State value, const std::atomic<bool>& other_sleeps) {
    state.store(value);
    if (other_sleeps.load()) state.notify_all();
  }
  void wait_while(State value, std::atomic<bool>& sleeps, bool spin) {
    if (spin && spin_until([&] { return state.load(std::memory_order_acquire) != value; }, spin_time)) return;
    sleeps.store(true);
    while (state.load() == value) state.wait(value);
    sleeps.store(false);
  }
  bool change(State from, State to) {
    std::uint32_t expected = from;
    return state.compare_exchange_strong(expected, to);
  }
};

void ThreadPool::Region::run(std::int64_t part) const {
  const std::int64_t size = n / parts, larger = n % parts;  // the first `larger` chunks have one element more
  const std::int64_t begin = part * size + std::min(part, larger);
  body(context, begin, begin + size + (part < larger ? 1 : 0));
}

constinit thread_local ThreadPool::Team* ThreadPool::team_ = nullptr;
constinit thread_local ThreadPool::Parts ThreadPool::parts_;

ThreadPool::ThreadPool() : threads_(usable_cores()), usable_cores_(threads_.load()) {}

ThreadPool& ThreadPool::instance() {
  return one_per_process<ThreadPool>([] { return new ThreadPool; });
}

int ThreadPool::usable_cores() {
  // The kernel refuses a set smaller than its own, so try larger ones.
  for (std::size_t capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::clamp(count, 1, max_threads);
  }
  return 1;
}

void ThreadPool::set_threads(int count) {
  if (count < 0 || count > max_threads)
    throw ValueError("threads: " + std::to_string(count) + " is outside 0 (all usable cores) to " +
                     std::to_string(max_threads));
  threads_.store(count == 0 ? usable_cores() : count, std::memory_order_relaxed);
}

void ThreadPool::parallel_for(std::int64_t n, std::int64_t grain, Body body, void* context) noexcept {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (n <= grain) return body(context, 0, n);
  const std::int64_t worth = (n - 1) / grain + 1;
  if (Team* team = team_; team != nullptr) {
    const std::int64_t workers = std::min(team->workers, worth - 1);
    if (workers == 0 || team->busy) return body(context, 0, n);
    team->busy = true;
    run_region({body, context, n, workers + 1}, team->first_worker);
    team->busy = false;
    return;
  }
  const std::int64_t parts = std::min<std::int64_t>(threads(), worth);
  if (parts == 1 || !try_enter()) return body(context, 0, n);
  const std::int64_t workers = start_workers(parts - 1);
  run_region({body, context, n, workers + 1}, 0);
  leave();
}

ThreadPool::Partitions::Partitions(int callers) {
  ThreadPool& pool = instance();
  if (callers < 2 || !pool.try_enter()) return;
  entered_ = true;
  const std::int64_t each = std::max(1, pool.threads() / callers) - 1;
  workers_ = pool.start_workers(each * callers) / callers;
}

ThreadPool::Partitions::~Partitions() {
  if (entered_) instance().leave();
}

ThreadPool::InPartition::InPartition(const Partitions& partitions, int number)
    : team_{number * partitions.workers_, partitions.workers_, false} {
  ThreadPool::team_ = &team_;
}

ThreadPool::InPartition::~InPartition() { ThreadPool::team_ = nullptr; }

bool ThreadPool::try_enter() {
  return !busy_.load(std::memory_order_relaxed) && !busy_.exchange(true, std::memory_order_acquire);
}

void ThreadPool::leave() { busy_.store(false, std::memory_order_release); }

/// Returns the number of workers, at most `wanted`: fewer if the system refuses memory or threads.
std::int64_t ThreadPool::start_workers(std::int64_t wanted) {
  end_workers_with_this_thread<ThreadPool>();
  for (std::int64_t number = 0; number < wanted; ++number)
    if (!start_worker(number)) return number;
  return wanted;
}

bool ThreadPool::start_worker(std::int64_t number) try {
  if (number == std::ssize(workers_)) workers_.push_back(std::make_unique<Worker>());
  Worker& worker = **(workers_.begin() + number);
  if (worker.thread.is_joinable()) return true;
  // With more threads than cores a spinning one would keep another from working.
  worker.spins = number + 1 < usable_cores_;
  return worker.thread.start<worker_main>(worker);
} catch (const std::bad_alloc&) {
  return false;
}

/// Part 0 runs here, the others in the workers from `first_worker` on.
void ThreadPool::run_region(const Region& region, std::int64_t first_worker) {
  const auto first = workers_.cbegin() + first_worker;
  const std::span<const std::unique_ptr<Worker>> team(first, first + (region.parts - 1));
  std::int64_t part = 0;
  for (const auto& worker : team) {
    worker->region = &region;
    worker->part = ++part;
    worker->set(offered, worker->worker_sleeps);
  }
  region.run(0);
  // Take back the parts that no worker has started. They are the caller's work, and a worker that is still waking up
  // (30 to 50 us) or has no core on a loaded machine (milliseconds) would only delay them.
  parts_.offered += team.size();
  for (const auto& worker : team) {
    if (worker->change(offered, idle))
      region.run(worker->part);
    else
      ++parts_.by_workers;
  }
  for (const auto& worker : team) worker->wait_while(taken, worker->caller_sleeps, true);
}

void ThreadPool::worker_main(Worker& worker) {
  const base::SignalsBlocked blocked;  // signals are for threads of the program
  for (;;) {
    worker.wait_while(idle, worker.worker_sleeps, worker.spins);
    if (worker.change(offered, taken)) {
      worker.region->run(worker.part);
      worker.set(idle, worker.caller_sleeps);
    } else if (worker.state.load() == stop) {
      return;
    }
  }
}

void ThreadPool::shut_down() {
  if (enter_at_end([&] { return try_enter(); })) stop_workers();  // and never leaves: later regions run inline
}

void ThreadPool::stop_workers() {
  for (const auto& worker : workers_) {
    if (!worker->thread.is_joinable()) continue;
    worker->set(stop, worker->worker_sleeps);
    worker->thread.join();
    worker->state.store(idle);
  }
}

void ThreadPool::forget_workers_after_fork() {
  for (const auto& worker : workers_) {
    worker->state.store(idle);
    worker->worker_sleeps.store(false);
    worker->caller_sleeps.store(false);
  }
  leave();
}

}  // namespace croton::runtime::cpu
