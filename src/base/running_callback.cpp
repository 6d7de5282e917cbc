#include "base/running_callback.hpp"

#include <pthread.h>

#include <mutex>

#include "base/fork_safe_mutex.hpp"

namespace croton::base {
namespace {

struct Running {
  ForkSafeMutex& mutex = *new ForkSafeMutex;
  std::list<std::chrono::steady_clock::time_point> since;  // the oldest first
};
Running& running() {
  static Running& instance = *new Running;  // never destroyed: callbacks may run while the process ends
  return instance;
}

std::atomic<std::uint32_t> forks{0};
// The child process has none of its parent's callbacks.
const bool fork_handler_registered = [] {
  pthread_atfork(nullptr, nullptr, [] {
    running().since.clear();
    forks.fetch_add(1, std::memory_order_relaxed);
  });
  return true;
}();

}  // namespace

RunningCallback::RunningCallback() {
  const std::lock_guard lock(running().mutex);
  at_ = running().since.insert(running().since.end(), std::chrono::steady_clock::now());
  generation_ = fork_generation();
}

RunningCallback::~RunningCallback() {
  const std::lock_guard lock(running().mutex);
  if (generation_ == fork_generation()) running().since.erase(at_);
}

std::chrono::steady_clock::duration oldest_callback() {
  const std::lock_guard lock(running().mutex);
  if (running().since.empty()) return {};
  return std::chrono::steady_clock::now() - running().since.front();
}

std::uint32_t fork_generation() { return forks.load(std::memory_order_relaxed); }

}  // namespace croton::base
