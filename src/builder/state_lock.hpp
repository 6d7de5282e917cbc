// What the value of a shared variable is locked by: shared to read, exclusive to update. In a process that was forked
// while another thread, which the child does not have, was reading, the lock is free again; where that thread was
// updating, the value may be half of one, and locking raises an error in place of waiting for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/running_callback.hpp"

namespace croton::builder {

/// For std::unique_lock and std::shared_lock.
class StateLock {
 public:
  /// What the error calls it.
  void set_owner(std::string variable) { variable_ = std::move(variable); }

  void lock() {
    renew_after_fork();
    mutex_->lock();
    writing_.store(true, std::memory_order_relaxed);
  }
  bool try_lock() {
    renew_after_fork();
    if (!mutex_->try_lock()) return false;
    writing_.store(true, std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    writing_.store(false, std::memory_order_relaxed);
    mutex_->unlock();
  }
  void lock_shared() {
    renew_after_fork();
    mutex_->lock_shared();
    ++held_by_this_thread();
  }
  bool try_lock_shared() {
    renew_after_fork();
    if (!mutex_->try_lock_shared()) return false;
    ++held_by_this_thread();
    return true;
  }
  void unlock_shared() {
    --held_by_this_thread();
    mutex_->unlock_shared();
  }

 private:
  void renew_after_fork() {
    if (generation_.load(std::memory_order_acquire) != base::fork_generation()) renew();
  }
  void renew();
  /// How many of all these locks this thread holds to read: a callback that forks goes on in the child, and gives back
  /// what it holds.
  static int& held_by_this_thread();

  std::optional<std::shared_mutex> mutex_{std::in_place};
  std::atomic<bool> writing_{false};
  std::atomic<std::uint32_t> generation_{base::fork_generation()};
  std::string variable_;
};

}  // namespace croton::builder
