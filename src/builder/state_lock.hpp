// The lock of a shared variable's value: shared to read, exclusive to update. If a process was forked while another
// thread was reading, which the child does not have, the lock is free in the child; if that thread was updating, the
// value may be incomplete, and locking raises an error instead of waiting for ever.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/running_callback.hpp"

namespace croton::builder {

/// For std::unique_lock and std::shared_lock.
class StateLock {
 public:
  /// Sets the name of the variable in error messages.
  void set_owner(std::string variable) { variable_ = std::move(variable); }

  void lock() {
    renew_after_fork();
    throw_on_self_deadlock();
    mutex_->lock();
    writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  bool try_lock() {
    renew_after_fork();
    if (!mutex_->try_lock()) return false;
    writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    writer_.store({}, std::memory_order_relaxed);
    mutex_->unlock();
  }
  void lock_shared() {
    renew_after_fork();
    if (writer_.load(std::memory_order_relaxed) == std::this_thread::get_id()) throw_on_self_deadlock();
    mutex_->lock_shared();
    held_for_reading().push_back(this);
  }
  bool try_lock_shared() {
    renew_after_fork();
    if (!mutex_->try_lock_shared()) return false;
    held_for_reading().push_back(this);
    return true;
  }
  void unlock_shared() {
    std::vector<const StateLock*>& all = held_for_reading();
    *std::ranges::find(all, this) = all.back();
    all.pop_back();
    mutex_->unlock_shared();
  }

 private:
  void renew_after_fork() {
    if (generation_.load(std::memory_order_acquire) != base::fork_generation()) renew();
  }
  void renew();
  /// Error if this thread, in a callback or a signal handler of a call, already holds the lock, which would never
  /// be released.
  void throw_on_self_deadlock() const;
  /// All StateLocks that this thread holds for reading. (A callback that forks continues in the child, and
  /// releases them.)
  static std::vector<const StateLock*>& held_for_reading();

  std::optional<std::shared_mutex> mutex_{std::in_place};
  std::atomic<std::thread::id> writer_;  // none if no thread updates the value
  std::atomic<std::uint32_t> generation_{base::fork_generation()};
  std::string variable_;
};

}  // namespace croton::builder
