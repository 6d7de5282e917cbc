// The user's callbacks (HostOp) that run now, in any thread: code that waits for something that a callback may delay
// checks for how long the oldest one has been running. Also the number of forks of this process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>

namespace croton::base {

/// While it lives, a callback runs.
class RunningCallback {
 public:
  RunningCallback();
  ~RunningCallback();
  RunningCallback(const RunningCallback&) = delete;
  RunningCallback& operator=(const RunningCallback&) = delete;

 private:
  std::list<std::chrono::steady_clock::time_point>::iterator at_;
  std::uint32_t generation_;  // a callback that forks also ends in the child, whose list is empty
};

/// The time for which the oldest running callback has been running; zero if there is none.
std::chrono::steady_clock::duration oldest_callback();

/// Increases in each child that fork() makes: objects of a lower generation belong to a thread of the parent.
std::uint32_t fork_generation();

}  // namespace croton::base
