// Waits that are expected to be short: a spinning thread continues within nanoseconds, a sleeping one within 30 to 50
// us.
#pragma once

#include <chrono>

namespace croton::runtime::cpu {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until done() or until the time is over; returns done().
template <class Done>
bool spin_until(Done done, std::chrono::microseconds time) {
  constexpr int pauses_between_clock_reads = 8;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < pauses_between_clock_reads; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace croton::runtime::cpu
