#include "runtime/lanes/lanes.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/config.hpp"
#include "base/thread.hpp"
#include "runtime/cpu/threads/one_per_process.hpp"
#include "runtime/cpu/threads/spin.hpp"
#include "runtime/cpu/threads/threads.hpp"

namespace croton::runtime {
namespace {

// As long as the system takes to wake a thread: a change that comes sooner finds the thread awake.
constexpr auto spin_time = std::chrono::microseconds(50);

/// Lets threads wait for atomic values that others change: they spin briefly, then sleep.
class Condition {
 public:
  template <class Ready>
  void wait(bool spin, const Ready& ready) {
    if (ready() || (spin && cpu::spin_until(ready, spin_time))) return;
    std::unique_lock lock(mutex_);
    ++sleepers_;  // before the next check
    changed_.wait(lock, ready);
    --sleepers_;
  }
  /// To be called after each change.
  void notify() {
    if (sleepers_.load() == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }
    changed_.notify_all();
  }

 private:
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// A thread for one lane of the caller who has the team.
struct Worker {
  enum State { idle, working, stop };
  std::atomic<State> state{idle};
  Condition state_changes;
  const std::function<void(std::size_t lane)>* job = nullptr;
  std::size_t lane = 0;
  base::Thread thread;

  void set(State value) {
    state.store(value);
    state_changes.notify();
  }

  void main() {
    for (;;) {
      // Spins briefly only: the threads of the pool work meanwhile.
      state_changes.wait(true, [&] { return state.load() != idle; });
      if (state.load() == stop) return;
      (*job)(lane);
      set(idle);
    }
  }
};

/// The threads of this process for lanes; one caller has them at a time.
class Team {
 public:
  static Team& instance() {
    return cpu::one_per_process<Team>([] { return new Team; });
  }

  /// False if another caller has the team, or the system has no threads left.
  bool enter(std::size_t workers) {
    if (!try_enter()) return false;
    cpu::end_workers_with_this_thread<Team>();
    try {
      while (workers_.size() < workers) {
        auto worker = std::make_unique<Worker>();
        workers_.reserve(workers);
        if (!worker->thread.start<&Worker::main>(*worker)) break;
        workers_.push_back(std::move(worker));
      }
    } catch (const std::bad_alloc&) {
    }
    if (workers_.size() >= workers) return true;
    leave();
    return false;
  }
  void leave() { busy_.store(false, std::memory_order_release); }

  /// Calls job(lane), which must not throw, in the worker. The job must live until the worker is joined.
  void start(std::size_t worker, const std::function<void(std::size_t)>& job, std::size_t lane) {
    Worker& chosen = *workers_[worker];
    chosen.job = &job;
    chosen.lane = lane;
    chosen.set(Worker::working);
  }
  void join(std::size_t worker) {
    Worker& chosen = *workers_[worker];
    chosen.state_changes.wait(true, [&] { return chosen.state.load() == Worker::idle; });
  }

 private:
  template <class T>
  friend T& cpu::one_per_process(T* (*make)());
  template <class T>
  friend void cpu::end_workers_with_this_thread();

  bool try_enter() { return !busy_.exchange(true, std::memory_order_acquire); }

  void shut_down() {
    if (cpu::enter_at_end([&] { return try_enter(); })) stop_workers();  // and never leaves: later calls run in order
  }
  void stop_workers() {
    for (const auto& worker : workers_) {
      worker->set(Worker::stop);
      worker->thread.join();
    }
    workers_.clear();
  }

  /// The conditions on which the parent's workers sleep cannot be destroyed: to the child, the threads are still
  /// inside.
  void forget_workers_after_fork() {
    for (auto& worker : workers_) worker.release();
    workers_.clear();
    leave();
  }

  std::atomic<bool> busy_{false};
  std::vector<std::unique_ptr<Worker>> workers_;  // belong to the caller who has the team
};

}  // namespace

/// One run of all pieces.
struct Lanes::Run {
  const Lanes& lanes;
  const std::function<void(std::size_t)>& work;
  const base::ThreadScopes scopes = {};
  const cpu::ThreadPool::Partitions partitions;
  const bool spin;
  std::vector<std::atomic<std::size_t>> done_below;  // per lane: its pieces with lower numbers are done
  std::atomic<std::size_t> first_failed{std::numeric_limits<std::size_t>::max()};  // no later piece begins any more
  Condition progress;                                                              // of both
  std::mutex mutex;  // of the error and of changes of first_failed
  std::exception_ptr error;

  Run(const Lanes& of, const std::function<void(std::size_t)>& piece_work)
      : lanes(of),
        work(piece_work),
        partitions(of.partitions_),
        spin(std::cmp_less_equal(of.count(), cpu::ThreadPool::usable_cores())),
        done_below(of.count()) {}

  /// Whether a piece need not wait any longer: the pieces that it waits for are done, or it will not run.
  bool may_go_on(std::size_t piece) const {
    if (first_failed.load() < piece) return true;
    for (const std::size_t other : lanes.pieces_[piece].waits) {
      if (done_below[lanes.pieces_[other].lane].load() <= other) return false;
    }
    return true;
  }

  void fail(std::size_t piece) {
    {
      const std::lock_guard lock(mutex);
      if (piece < first_failed.load()) {
        error = std::current_exception();
        first_failed.store(piece);
      }
    }
    progress.notify();
  }

  void run_lane(std::size_t number) noexcept {
    const Lane& lane = lanes.lanes_[number];
    std::optional<cpu::ThreadPool::InPartition> partition;
    if (lanes.partitions_ > 1 && lane.partition) partition.emplace(partitions, *lane.partition);
    for (const std::size_t piece : lane.pieces) {
      progress.wait(spin, [&] { return may_go_on(piece); });
      if (first_failed.load() < piece) return;
      try {
        work(piece);
      } catch (...) {
        return fail(piece);
      }
      done_below[number].store(piece + 1);
      progress.notify();
    }
  }

  void run_in_worker(std::size_t lane) {
    try {
      const base::ScopesApplied in_scopes(scopes);
      run_lane(lane);
    } catch (const std::bad_alloc&) {  // of the scopes
      fail(lanes.lanes_[lane].pieces.front());
    }
  }
};

Lanes::Lanes(std::vector<LanePiece> pieces, const std::vector<bool>& computes)
    : pieces_(std::move(pieces)), lanes_(computes.size()) {
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) lanes_[pieces_[piece].lane].pieces.push_back(piece);
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (computes[lane]) lanes_[lane].partition = partitions_++;
  }
}

void Lanes::run(const std::function<void(std::size_t)>& work) const {
  const std::size_t others = lanes_.size() - 1;
  Team& team = Team::instance();
  if (others == 0 || !team.enter(others)) return run_in_order(work);
  struct Leave {
    Team& team;
    ~Leave() { team.leave(); }
  } leave{team};
  std::exception_ptr error;
  {
    Run run(*this, work);
    const std::function<void(std::size_t)> in_worker = [&](std::size_t lane) { run.run_in_worker(lane); };
    for (std::size_t i = 0; i < others; ++i) team.start(i, in_worker, i + 1);
    run.run_lane(0);
    for (std::size_t i = 0; i < others; ++i) team.join(i);
    error = run.error;
  }
  if (error) std::rethrow_exception(error);
}

void Lanes::run_in_order(const std::function<void(std::size_t)>& work) const {
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) work(piece);
}

}  // namespace croton::runtime
