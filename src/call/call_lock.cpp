#include "call/call_lock.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

namespace croton::detail {

void CallLock::wait(const std::string& name) {
  const std::string who = name.empty() ? "the function" : "the function " + name;
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      throw Error(
          fmt::format("{} is called, or inspected, by one of its own callbacks (HostOp), which would wait for itself. "
                      "A copy of the function (copy()) can be called there",
                      who));
    }
    if (generation_.load(std::memory_order_relaxed) != base::fork_generation()) {
      throw Error(fmt::format(
          "{} was in a call in another thread when this process was forked: that thread does not exist here, so its "
          "call never ends. Fork before calls begin, or start new processes (Python: multiprocessing's spawn)",
          who));
    }
    if (std::chrono::steady_clock::now() - begin > patience && base::oldest_callback() > patience) {
      throw Error(
          fmt::format("{} has been in use for {} s while a callback (HostOp) was running: a callback must not wait for "
                      "a thread that calls its own function. A copy of the function (copy()) can be called there",
                      who, patience.count()));
    }
  } while (!mutex_.try_lock_for(std::chrono::milliseconds(200)));
}

}  // namespace croton::detail
