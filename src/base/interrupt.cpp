#include "base/interrupt.hpp"

#include <ctime>

namespace croton {
namespace {

constexpr std::chrono::milliseconds poll_interval{50};

struct InterruptState {
  void (*callback)() = nullptr;
  int uninterrupted = 0;
  std::chrono::nanoseconds last_poll{};
};
thread_local constinit InterruptState interrupt_state;

/// The time with a resolution of some milliseconds, which costs less than the exact one.
std::chrono::nanoseconds coarse_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

InterruptScope::InterruptScope(void (*ask)()) : outer_(interrupt_state.callback) {
  interrupt_state.callback = ask;
  interrupt_state.last_poll = coarse_time();
}
InterruptScope::~InterruptScope() { interrupt_state.callback = outer_; }

namespace base {

void check_interrupt() {
  InterruptState& state = interrupt_state;
  if (state.callback == nullptr || state.uninterrupted > 0) return;
  const std::chrono::nanoseconds now = coarse_time();
  if (now - state.last_poll < poll_interval) return;
  state.last_poll = now;
  state.callback();
}

Uninterrupted::Uninterrupted() { ++interrupt_state.uninterrupted; }
Uninterrupted::~Uninterrupted() { --interrupt_state.uninterrupted; }

}  // namespace base
}  // namespace croton
