// The count of threads that compile. If a process is forked while another thread compiles, the child does not have that
// thread, but its memory has the locks that the thread held, in the caches of kernels and in Clang and LLVM, and nobody
// can release them. So compiling in such a child is an error at once, instead of a deadlock.
#pragma once

namespace croton::base {

/// While it lives, this thread compiles: functions, plans of calls or kernels. Objects of it nest. The
/// constructor throws Error, before it takes a lock, in a process that was forked (or whose parent was) while
/// another thread compiled.
class Compilation {
 public:
  Compilation();
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
};

/// Null, or the reason why this process cannot compile any more: the text of Compilation's error.
const char* why_no_compilation() noexcept;

}  // namespace croton::base
