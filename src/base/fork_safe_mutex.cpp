#include "base/fork_safe_mutex.hpp"

#include <pthread.h>

#include <atomic>

namespace croton::base {
namespace {

constinit std::atomic<ForkSafeMutex*> newest{nullptr};
// The newest mutex that this fork locks: a mutex that another thread makes during the fork is newer, and is
// not touched.
constinit ForkSafeMutex* locked_from = nullptr;

}  // namespace

struct AroundFork {
  static void lock_all() {
    locked_from = newest.load();
    for (ForkSafeMutex* each = locked_from; each != nullptr; each = each->next_) each->mutex_.lock();
  }
  static void unlock_all() {
    for (ForkSafeMutex* each = locked_from; each != nullptr; each = each->next_) each->mutex_.unlock();
  }
};

ForkSafeMutex::ForkSafeMutex() noexcept {
  [[maybe_unused]] static const int registered =
      pthread_atfork(AroundFork::lock_all, AroundFork::unlock_all, AroundFork::unlock_all);
  next_ = newest.load();
  while (!newest.compare_exchange_weak(next_, this)) {
  }
}

}  // namespace croton::base
