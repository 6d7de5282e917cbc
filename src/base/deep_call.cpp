#include "base/deep_call.hpp"

#include <array>
#include <csignal>
#include <exception>
#include <memory>

#include "base/thread.hpp"

namespace croton::base {
namespace {

struct Call {
  const std::function<void()>& work;
  std::exception_ptr error;
  // The alternate stack for the process's handlers of fatal signals (SA_ONSTACK): each thread needs its own.
  std::array<std::byte, 64 * 1024> signal_stack;
};

void* run(void* argument) {
  Call& call = *static_cast<Call*>(argument);
  stack_t other{};
  other.ss_sp = call.signal_stack.data();
  other.ss_size = call.signal_stack.size();
  sigaltstack(&other, nullptr);
  try {
    call.work();
  } catch (...) {
    call.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void call_with_stack(std::size_t bytes, const std::function<void()>& work) {
  const auto call = std::make_unique<Call>(Call{work, nullptr, {}});
  Thread thread;
  if (!thread.start(run, call.get(), bytes)) return work();
  thread.join();
  if (call->error) std::rethrow_exception(call->error);
}

}  // namespace croton::base
