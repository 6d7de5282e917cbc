// What the value of a shared variable is locked by: shared to read, exclusive to update. In a process that was forked
// while another thread, which the child does not have, was reading, the lock is free again; where that thread was
// updating, the value may be half of one, and locking raises an error in place of waiting for ever.
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
  /// What the error calls it.
  void set_owner(std::string variable) { variable_ = std::move(variable); }

  void lock() {
    renew_after_fork();
    refuse_to_wait_for_oneself();
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
    if (writer_.load(std::memory_order_relaxed) == std::this_thread::get_id()) refuse_to_wait_for_oneself();
    mutex_->lock_shared();
    read_here().push_back(this);
  }
  bool try_lock_shared() {
    renew_after_fork();
    if (!mutex_->try_lock_shared()) return false;
    read_here().push_back(this);
    return true;
  }
  void unlock_shared() {
    std::vector<const StateLock*>& all = read_here();
    *std::ranges::find(all, this) = all.back();
    all.pop_back();
    mutex_->unlock_shared();
  }

 private:
  void renew_after_fork() {
    if (generation_.load(std::memory_order_acquire) != base::fork_generation()) renew();
  }
  void renew();
  /// Error where this thread, in a callback or a signal handler of a call, holds it already: nobody would give it back.
  void refuse_to_wait_for_oneself() const;
  /// All of these that this thread holds to read. (A callback that forks goes on in the child, and gives them back.)
  static std::vector<const StateLock*>& read_here();

  std::optional<std::shared_mutex> mutex_{std::in_place};
  std::atomic<std::thread::id> writer_;  // none where nobody updates
  std::atomic<std::uint32_t> generation_{base::fork_generation()};
  std::string variable_;
};

}  // namespace croton::builder
