// Which threads compile. A process that is forked while another thread does would wait for ever for what that thread,
// which the child does not have, has locked: in our caches of kernels, and in Clang and LLVM, whose locks nobody
// outside of them can give back. Compiling in such a child is an error at once.
#pragma once

namespace croton::base {

/// While it lives, this thread compiles: functions, plans of calls or kernels. They nest. Error, in front of any lock,
/// in a process that was forked (or whose parent was) while another thread compiled.
class Compilation {
 public:
  Compilation();
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
};

/// Null, or why nothing can be compiled in this process any more: what Compilation's error says.
const char* why_no_compilation() noexcept;

}  // namespace croton::base
