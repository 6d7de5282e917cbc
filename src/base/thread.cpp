#include "base/thread.hpp"

#include "base/address_space.hpp"
#include "base/running_callback.hpp"

namespace croton::base {
namespace {

// A thread that finds no memory for its thread_local variables ends the process (glibc).
constexpr std::size_t beside_stack = std::size_t{1} << 20;

std::size_t standard_stack() noexcept {
  pthread_attr_t standard;
  std::size_t bytes = std::size_t{8} << 20;
  if (pthread_getattr_default_np(&standard) != 0) return bytes;
  pthread_attr_getstacksize(&standard, &bytes);
  pthread_attr_destroy(&standard);
  return bytes;
}

}  // namespace

bool Thread::start(void* (*run)(void*), void* argument, std::size_t stack) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  if (stack == 0) stack = standard_stack();
  started_ = could_map(stack + beside_stack) && pthread_attr_setstacksize(&attributes, stack) == 0 &&
             pthread_create(&thread_, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  generation_ = fork_generation();
  return started_;
}

bool Thread::is_here() const noexcept { return started_ && generation_ == fork_generation(); }
bool Thread::is_lost() const noexcept { return started_ && generation_ != fork_generation(); }

void Thread::join() noexcept {
  if (is_here()) pthread_join(thread_, nullptr);
  started_ = false;
}

}  // namespace croton::base
