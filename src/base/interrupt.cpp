#include "base/interrupt.hpp"

#include <ctime>

namespace croton {
namespace {

constexpr std::chrono::milliseconds between_questions{50};

struct Asked {
  void (*ask)() = nullptr;
  int uninterrupted = 0;
  std::chrono::nanoseconds last{};
};
thread_local constinit Asked asked;

/// To some milliseconds, which is read in less time than the exact one.
std::chrono::nanoseconds coarse_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

InterruptScope::InterruptScope(void (*ask)()) : outer_(asked.ask) {
  asked.ask = ask;
  asked.last = coarse_time();
}
InterruptScope::~InterruptScope() { asked.ask = outer_; }

namespace base {

void check_interrupt() {
  Asked& here = asked;
  if (here.ask == nullptr || here.uninterrupted > 0) return;
  const std::chrono::nanoseconds now = coarse_time();
  if (now - here.last < between_questions) return;
  here.last = now;
  here.ask();
}

Uninterrupted::Uninterrupted() { ++asked.uninterrupted; }
Uninterrupted::~Uninterrupted() { --asked.uninterrupted; }

}  // namespace base
}  // namespace croton
