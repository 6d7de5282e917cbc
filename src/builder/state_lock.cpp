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
  if (writer_.load(std::memory_order_relaxed) != std::thread::id()) {
    throw Error(fmt::format(
        "{} was being updated when this process was forked: its value here may be half of one. Fork before calls "
        "begin, or start processes anew (Python: multiprocessing's spawn)",
        variable_));
  }
  // A mutex that a thread holds which is not here cannot be unlocked, or destroyed: a new one is put in its place.
  if (read_here().empty()) new (&mutex_) std::optional<std::shared_mutex>(std::in_place);
  generation_.store(now, std::memory_order_release);
}

void StateLock::refuse_to_wait_for_oneself() const {
  const bool writes = writer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  if (!writes && std::ranges::find(read_here(), this) == read_here().end()) return;
  throw Error(
      fmt::format("{} is {} by a call in this thread, in a callback (HostOp) or signal handler of which it cannot be "
                  "{}: that would "
                  "wait for itself",
                  variable_, writes ? "being updated" : "being read", writes ? "used" : "updated"));
}

std::vector<const StateLock*>& StateLock::read_here() {
  thread_local std::vector<const StateLock*> locks;
  return locks;
}

}  // namespace croton::builder
