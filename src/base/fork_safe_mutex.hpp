// A mutex that no thread holds while the process is forked: in the child it is free, and the data that it guards
// is consistent.
#pragma once

#include <mutex>

namespace croton::base {

/// For a few lines that take no other lock of Croton and call no foreign code, because fork waits for them. A thread
/// that holds a ForkSafeMutex while it waits for another one could make fork wait for ever. It is never destroyed, so
/// it belongs to objects that live as long as the process.
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
  ForkSafeMutex* next_ = nullptr;  // the mutex that was made before this one
};

}  // namespace croton::base
