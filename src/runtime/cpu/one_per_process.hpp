// What a process has one of, with threads of its own: the ThreadPool, the team of lanes.
#pragma once

#include <pthread.h>

#include <chrono>
#include <thread>

namespace croton::runtime::cpu {

/// The T of this process, made when first asked for. It is never destroyed, so that destructors of static objects may
/// still use it, without its threads: T::shut_down() ends these when the process ends or the library is unloaded. In a
/// child after fork(), which has none of them, T::forget_workers_after_fork() is called.
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

/// For shut_down: enters what another thread may be in, waiting for that one no longer than for a second; only work
/// that calls exit() makes it wait in vain. False then.
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
