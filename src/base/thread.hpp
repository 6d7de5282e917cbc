// Threads of the library's own, all of which are made here. Each of them helps with work that the caller could do as
// well: where the system has none, or no memory for one, the work is done without.
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

  /// Calls run(argument), which must not throw, in a new thread with a stack of so many bytes (0: as the system has
  /// it). False where there can be none now.
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
  /// Whether it was started, in this process, and not joined yet.
  bool is_here() const noexcept;
  /// Whether it was started, and the process forked since: the child has no such thread.
  bool is_lost() const noexcept;
  /// Waits for its end; nothing where it is not here.
  void join() noexcept;

 private:
  pthread_t thread_{};
  bool started_ = false;
  std::uint32_t generation_ = 0;  // of the process, by its forks
};

}  // namespace croton::base
