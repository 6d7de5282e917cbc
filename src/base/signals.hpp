// Blocking of signals around code that they must not interrupt.
#pragma once

#include <pthread.h>

#include <csignal>

namespace croton::base {

/// While it lives, signals wait or go to other threads. For code that sets the stack pointer to other memory: a handler
/// would overwrite the memory below.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace croton::base
