#include "runtime/lanes/lanes.hpp"

#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "base/config.hpp"
#include "base/thread.hpp"
#include "runtime/cpu/one_per_process.hpp"
#include "runtime/cpu/spin.hpp"
#include "runtime/cpu/threads.hpp"

namespace croton::runtime {
namespace {

// As long as the system takes to wake a thread: what comes sooner is not slept through.
constexpr auto spin_time = std::chrono::microseconds(50);

/// Where threads wait for atomic values that others change: briefly by spinning, then asleep.
class Bell {
 public:
  template <class Ready>
  void wait(bool spin, const Ready& ready) {
    if (ready() || (spin && cpu::spin_until(ready, spin_time))) return;
    std::unique_lock lock(mutex_);
    ++sleepers_;  // before it looks again
    changed_.wait(lock, ready);
    --sleepers_;
  }
  /// Behind each change.
  void ring() {
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

/// A thread for a lane of whoever has the team.
struct Worker {
  enum State { idle, working, stop };
  std::atomic<State> state{idle};
  Bell bell;  // of changes of the state
  void (*job)(void* run, std::size_t lane) = nullptr;
  void* run = nullptr;
  std::size_t lane = 0;
  base::Thread thread;

  void set(State value) {
    state.store(value);
    bell.ring();
  }

  static void* main(void* argument) {
    Worker& self = *static_cast<Worker*>(argument);
    for (;;) {
      // Not for long: the threads of the pool work meanwhile.
      self.bell.wait(true, [&] { return self.state.load() != idle; });
      if (self.state.load() == stop) return nullptr;
      self.job(self.run, self.lane);
      self.set(idle);
    }
  }
};

/// The threads of this process; one caller has them at a time.
class Team {
 public:
  static Team& instance() {
    return cpu::one_per_process<Team>([] { return new Team; });
  }

  /// False where another caller has it, or the system has no threads left.
  bool enter(std::size_t workers) {
    if (!try_enter()) return false;
    cpu::end_workers_with_this_thread<Team>();
    try {
      while (workers_.size() < workers) {
        auto worker = std::make_unique<Worker>();
        workers_.reserve(workers);
        if (!worker->thread.start(Worker::main, worker.get())) break;
        workers_.push_back(std::move(worker));
      }
    } catch (const std::bad_alloc&) {
    }
    if (workers_.size() >= workers) return true;
    leave();
    return false;
  }
  void leave() { busy_.store(false, std::memory_order_release); }

  void start(std::size_t worker, void (*job)(void*, std::size_t), void* run, std::size_t lane) {
    Worker& chosen = *workers_[worker];
    chosen.job = job;
    chosen.run = run;
    chosen.lane = lane;
    chosen.set(Worker::working);
  }
  void join(std::size_t worker) {
    Worker& chosen = *workers_[worker];
    chosen.bell.wait(true, [&] { return chosen.state.load() == Worker::idle; });
  }

 private:
  template <class T>
  friend T& cpu::one_per_process(T* (*make)());
  template <class T>
  friend void cpu::end_workers_with_this_thread();

  bool try_enter() { return !busy_.exchange(true, std::memory_order_acquire); }

  void shut_down() {
    if (cpu::enter_at_end([&] { return try_enter(); })) stop_workers();  // never left again: later calls run in order
  }
  void stop_workers() {
    for (const auto& worker : workers_) {
      worker->set(Worker::stop);
      worker->thread.join();
    }
    workers_.clear();
  }

  /// What they slept on cannot be destroyed: their threads, which are no more, are still in it.
  void forget_workers_after_fork() {
    for (auto& worker : workers_) worker.release();
    workers_.clear();
    leave();
  }

  std::atomic<bool> busy_{false};
  std::vector<std::unique_ptr<Worker>> workers_;  // of whoever has the team
};

}  // namespace

/// One run of all pieces.
struct Lanes::Run {
  const Lanes& lanes;
  const std::function<void(std::size_t)>& work;
  const base::ThreadScopes scopes = {};
  const cpu::ThreadPool::Shares shares;
  const bool spin;
  std::vector<std::atomic<int>> done;      // per lane: its last piece that is done
  std::atomic<int> first_failed{INT_MAX};  // nothing behind it begins any more
  Bell bell;                               // of changes of both
  std::mutex mutex;                        // of the error and what failed first
  std::exception_ptr error;

  Run(const Lanes& of, const std::function<void(std::size_t)>& piece_work)
      : lanes(of),
        work(piece_work),
        shares(of.shares_),
        spin(static_cast<int>(of.count()) <= cpu::ThreadPool::usable_cores()),
        done(of.count()) {
    for (auto& last : done) last.store(-1);
  }

  /// Whether a piece need not wait any longer: what it waits for is done, or it will not run.
  bool may_go_on(int piece) const {
    if (first_failed.load() < piece) return true;
    for (const int other : lanes.pieces_[static_cast<std::size_t>(piece)].waits) {
      if (done[static_cast<std::size_t>(lanes.pieces_[static_cast<std::size_t>(other)].lane)].load() < other)
        return false;
    }
    return true;
  }

  void fail(int piece) {
    {
      const std::lock_guard lock(mutex);
      if (piece < first_failed.load()) {
        error = std::current_exception();
        first_failed.store(piece);
      }
    }
    bell.ring();
  }

  void run_lane(std::size_t number) noexcept {
    const Lane& lane = lanes.lanes_[number];
    std::optional<cpu::ThreadPool::Share> share;
    if (lanes.shares_ > 1 && lane.share >= 0) share.emplace(shares, lane.share);
    for (const int piece : lane.pieces) {
      bell.wait(spin, [&] { return may_go_on(piece); });
      if (first_failed.load() < piece) return;
      try {
        work(static_cast<std::size_t>(piece));
      } catch (...) {
        return fail(piece);
      }
      done[number].store(piece);
      bell.ring();
    }
  }

  static void run_in_worker(void* run, std::size_t lane) {
    Run& self = *static_cast<Run*>(run);
    try {
      const base::InScopes scopes(self.scopes);
      self.run_lane(lane);
    } catch (const std::bad_alloc&) {  // of the scopes
      self.fail(self.lanes.lanes_[lane].pieces.front());
    }
  }
};

Lanes::Lanes(std::vector<LanePiece> pieces, const std::vector<bool>& computes)
    : pieces_(std::move(pieces)), lanes_(computes.size()) {
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece)
    lanes_[static_cast<std::size_t>(pieces_[piece].lane)].pieces.push_back(static_cast<int>(piece));
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (computes[lane]) lanes_[lane].share = shares_++;
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
    for (std::size_t i = 0; i < others; ++i) team.start(i, Run::run_in_worker, &run, i + 1);
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
