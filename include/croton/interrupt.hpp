// Ending long work early: Ctrl-C, a deadline, a button.
#pragma once

#include <chrono>

namespace croton {

/// While it lives, compilations and calls of functions in this thread run `ask` between their steps, about every 50 ms.
/// What it throws ends them: nothing is changed then, as by any other error. It is not asked while a call writes new
/// values over shared variables. Python's functions ask for Ctrl-C in this way. The innermost one counts.
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
