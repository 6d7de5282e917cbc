// The lock of a function during a call. It raises an error instead of waiting for ever: in a callback (HostOp) of the
// same function, in a thread that such a callback waits for, and in a process that was forked while another thread,
// which the child does not have, was in a call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/running_callback.hpp"

namespace croton::detail {

class CallLock {
 public:
  /// Holds the lock while it lives. Error if that would wait for ever; `name` is the function's, for the message.
  class Guard {
   public:
    Guard(CallLock& lock, const std::string& name) : lock_(lock), owns_(true) { lock_.lock(name); }
    /// Does not wait.
    Guard(CallLock& lock, std::try_to_lock_t) : lock_(lock), owns_(lock.try_lock()) {}
    ~Guard() {
      if (owns_) lock_.unlock();
    }
    bool owns() const { return owns_; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    CallLock& lock_;
    bool owns_;
  };

  /// The time for which a callback and a caller wait for each other until this counts as a deadlock.
  static constexpr std::chrono::seconds patience{20};

 private:
  void lock(const std::string& name) {
    if (try_lock()) return;
    wait(name);
    note_owner();
  }
  bool try_lock() {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id() || !mutex_.try_lock()) return false;
    note_owner();
    return true;
  }
  void note_owner() {
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    generation_.store(base::fork_generation(), std::memory_order_relaxed);
  }
  void unlock() {
    owner_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  void wait(const std::string& name);

  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_;
  std::atomic<std::uint32_t> generation_{0};
};

}  // namespace croton::detail
