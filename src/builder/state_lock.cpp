#include "builder/state_lock.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <mutex>

namespace croton::builder {

void StateLock::renew() {
  static std::mutex& one_at_a_time = *new std::mutex;  // never destroyed: calls may run while the process ends
  const std::lock_guard lock(one_at_a_time);
  const std::uint32_t now = base::fork_generation();
  if (generation_.load(std::memory_order_relaxed) == now) return;
  if (writing_.load(std::memory_order_relaxed)) {
    throw Error(fmt::format(
        "{} was being updated when this process was forked: its value here may be half of one. Fork before calls "
        "begin, or start processes anew (Python: multiprocessing's spawn)",
        variable_));
  }
  // A mutex that a thread holds which is not here cannot be unlocked, or destroyed: a new one is put in its place.
  if (held_by_this_thread() == 0) new (&mutex_) std::optional<std::shared_mutex>(std::in_place);
  generation_.store(now, std::memory_order_release);
}

int& StateLock::held_by_this_thread() {
  thread_local int held = 0;
  return held;
}

}  // namespace croton::builder
