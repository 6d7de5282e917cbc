// Objects of which a process has one, with threads of its own: the ThreadPool, the team of lanes.
#pragma once

#include <pthread.h>

#include <chrono>
#include <thread>

#include "base/running_callback.hpp"

namespace croton::runtime::cpu {

/// The T of this process, made at first use. It is never destroyed, so that destructors of static objects may still use
/// it, without its threads: T::shut_down() ends these when the process ends or the library is unloaded. A child after
/// fork() has none of the threads; T::forget_workers_after_fork() is called there.
template <class T>
T& one_per_process(T* (*make)()) {
  static T* one = [make] {
    static T* made = make();
    static struct AtExit {
      ~AtExit() { made->shut_down(); }
    } at_exit;
    pthread_atfork(nullptr, nullptr, [] { made->forget_workers_after_fork(); });
    return made;
  }();
  return *one;
}

/// To be called before the use of workers. A child that was forked in a thread which then returns ends with its last
/// thread, and workers must not be that one: they are stopped when this thread ends, unless another thread is using
/// them. Other processes end with the return from main, or exit().
template <class T>
void end_workers_with_this_thread() {
  if (base::fork_generation() == 0) return;
  [[maybe_unused]] thread_local const struct AtEnd {
    ~AtEnd() {
      T& one = T::instance();
      if (!one.try_enter()) return;
      one.stop_workers();
      one.leave();
    }
  } at_end;
}

/// For shut_down: enters, and waits at most a second for a thread that is inside. False if it is still inside then,
/// which only happens if its work has called exit().
template <class Enter>
bool enter_at_end(Enter try_enter) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!try_enter()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace croton::runtime::cpu
