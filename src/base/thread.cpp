#include "base/thread.hpp"

#include "base/address_space.hpp"
#include "base/running_callback.hpp"

namespace croton::base {
namespace {

// Memory for a thread's thread_local variables: if there is none, glibc ends the process.
constexpr std::size_t thread_local_memory = std::size_t{1} << 20;

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
  started_ = could_map(stack + thread_local_memory) && pthread_attr_setstacksize(&attributes, stack) == 0 &&
             pthread_create(&thread_, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  generation_ = fork_generation();
  return started_;
}

bool Thread::is_joinable() const noexcept { return started_ && generation_ == fork_generation(); }
bool Thread::is_lost_by_fork() const noexcept { return started_ && generation_ != fork_generation(); }

void Thread::join() noexcept {
  if (is_joinable()) pthread_join(thread_, nullptr);
  started_ = false;
}

}  // namespace croton::base
