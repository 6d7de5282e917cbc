// Where long work asks whether it should end (croton/interrupt.hpp). Only locks of the call may be held there: whoever
// is asked may wait for a lock that another thread holds while it waits for one inside of us (Python's).
#pragma once

#include <croton/interrupt.hpp>

namespace croton::base {

/// Throws what the innermost InterruptScope of this thread throws; costs a few nanoseconds.
void check_interrupt();

/// While it lives, nobody is asked in this thread: something is half done.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace croton::base
