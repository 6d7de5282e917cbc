// Points of long work where it can be interrupted (croton/interrupt.hpp). The caller may hold only locks of its
// function call there: the callback may wait for a lock of another thread (Python's), which may wait for a lock
// of Croton.
#pragma once

#include <croton/interrupt.hpp>

namespace croton::base {

/// Throws if the callback of this thread's innermost InterruptScope throws; costs a few nanoseconds.
void check_interrupt();

/// While it lives, check_interrupt() does nothing in this thread, for work that must not end halfway.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace croton::base
