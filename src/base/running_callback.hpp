// Callbacks of the user's (HostOp) that run now, in any thread: who waits for something that a callback may hold up
// looks how long the oldest one has been running. And how often this process was forked.
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
  std::uint32_t generation_;  // a callback that forks ends in the child too, whose list is empty
};

/// For how long the oldest running callback has been running; zero where there is none.
std::chrono::steady_clock::duration oldest_callback();

/// Goes up in each child that fork() makes: what was noted under a lower number belongs to a thread of its parent.
std::uint32_t fork_generation();

}  // namespace croton::base
