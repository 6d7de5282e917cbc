#include "builder/state_lock.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <mutex>

namespace croton::builder {

void StateLock::renew() {
  static std::mutex& renewal_mutex = *new std::mutex;  // never destroyed: calls may run while the process ends
  const std::lock_guard lock(renewal_mutex);
  const std::uint32_t now = base::fork_generation();
  if (generation_.load(std::memory_order_relaxed) == now) return;
  if (writer_.load(std::memory_order_relaxed) != std::thread::id()) {
    throw Error(
        fmt::format("{} was being updated when this process was forked: its value here may be incomplete. Fork before "
                    "calls begin, or start new processes (Python: multiprocessing's spawn)",
                    variable_));
  }
  // A mutex that is held by a thread of the parent cannot be unlocked or destroyed, so a new one is constructed
  // over it.
  if (held_for_reading().empty()) new (&mutex_) std::optional<std::shared_mutex>(std::in_place);
  generation_.store(now, std::memory_order_release);
}

void StateLock::throw_on_self_deadlock() const {
  const bool writes = writer_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  if (!writes && std::ranges::find(held_for_reading(), this) == held_for_reading().end()) return;
  throw Error(
      fmt::format("{} is {} by a call in this thread, so it cannot be {} in a callback (HostOp) or signal handler of "
                  "that call, which would wait for itself",
                  variable_, writes ? "being updated" : "being read", writes ? "used" : "updated"));
}

std::vector<const StateLock*>& StateLock::held_for_reading() {
  thread_local std::vector<const StateLock*> locks;
  return locks;
}

}  // namespace croton::builder
