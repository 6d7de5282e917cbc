#include "base/compilation.hpp"

#include <croton/error.hpp>

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork_safe_mutex.hpp"

namespace croton::base {
namespace {

struct Compiling {
  ForkSafeMutex& mutex = *new ForkSafeMutex;  // `threads` must not change while fork copies the memory
  int threads = 0;
};
Compiling& compiling() {
  static Compiling& instance = *new Compiling;  // never destroyed: calls may run while the process ends
  return instance;
}

thread_local constinit int depth = 0;
constinit std::atomic<bool> lost{false};

const bool fork_handler_registered = [] {
  pthread_atfork(nullptr, nullptr, [] {
    const int here = depth > 0 ? 1 : 0;  // a callback in a compilation may fork: the child continues this compilation
    if (std::exchange(compiling().threads, here) > here) lost = true;
  });
  return true;
}();

}  // namespace

const char* why_no_compilation() noexcept {
  if (!lost.load(std::memory_order_relaxed)) return nullptr;
  return "this process was forked while another thread was compiling; that thread does not exist here, and the "
         "compiler stays locked: nothing can be compiled. Compile before forking, or start new processes (Python: "
         "multiprocessing's spawn)";
}

Compilation::Compilation() {
  if (const char* why = why_no_compilation()) throw Error(why);
  if (depth++ > 0) return;
  const std::lock_guard lock(compiling().mutex);
  ++compiling().threads;
}

Compilation::~Compilation() {
  if (--depth > 0) return;
  const std::lock_guard lock(compiling().mutex);
  --compiling().threads;
}

}  // namespace croton::base
