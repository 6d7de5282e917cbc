// A mutex of the process that no thread holds while it is forked: the child finds it free, and what it guards whole.
#pragma once

#include <mutex>

namespace croton::base {

/// For a few lines that take no other lock of ours and call nobody (fork waits for them): a ForkSafeMutex held while
/// another one is waited for could let fork wait for ever. It is never destroyed: in objects that live as long as the
/// process.
class ForkSafeMutex {
 public:
  ForkSafeMutex() noexcept;
  ~ForkSafeMutex() = delete;
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct AroundFork;
  std::mutex mutex_;
  ForkSafeMutex* next_ = nullptr;  // one that was made before
};

}  // namespace croton::base
