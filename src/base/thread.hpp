// Threads of the library, all of which are made here. Each of them helps with work that the caller could also do: if
// the system has no thread or no memory for one, the caller does the work.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace croton::base {

class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Calls run(argument), which must not throw, in a new thread with a stack of `stack` bytes (0: the system's
  /// default). False if no thread can be made now.
  bool start(void* (*run)(void*), void* argument, std::size_t stack = 0) noexcept;
  /// The same for a member function or function of an object, which must live until the thread ends.
  template <auto run, class T>
  bool start(T& object, std::size_t stack = 0) noexcept {
    return start(
        [](void* argument) -> void* {
          std::invoke(run, *static_cast<T*>(argument));
          return nullptr;
        },
        &object, stack);
  }
  /// Whether it was started in this process and not joined yet.
  bool is_joinable() const noexcept;
  /// Whether it was started and the process was forked since: the child has no such thread.
  bool is_lost_by_fork() const noexcept;
  /// Waits for its end; does nothing if is_joinable() is false.
  void join() noexcept;

 private:
  pthread_t thread_{};
  bool started_ = false;
  std::uint32_t generation_ = 0;  // the process, by its number of forks
};

}  // namespace croton::base
