// Interruption of long work: by Ctrl-C, a deadline, a button.
#pragma once

#include <chrono>

namespace croton {

/// During its lifetime, compilations and calls of functions in this thread call `ask` between their steps, about every
/// 50 ms. An exception of `ask` ends the work, and nothing is changed, as for any other error. `ask` is not called
/// while a call overwrites shared variables. The Python module checks for Ctrl-C in this way. Of nested scopes the
/// innermost one applies.
class InterruptScope {
 public:
  explicit InterruptScope(void (*ask)());
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  void (*outer_)();
};

}  // namespace croton
