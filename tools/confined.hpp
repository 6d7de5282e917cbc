// Runs untrusted code in a separate process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace croton::tool {

struct Limits {
  std::size_t memory_bytes = std::size_t{4} << 30;  // of address space
  unsigned seconds = 300;                           // of the processor's time
};

/// Runs in a child process, with limits and in an empty folder: `prepare()`, which may still read files; then, without
/// access to files, the network or other processes, the work that it returned. Their output is passed on. Returns the
/// status of the work; 1, with a line on the standard error, if the child was ended by a signal. `last_words` describes
/// the position of the child; its signal handler calls it.
int run_confined(const Limits& limits, const std::function<std::function<int()>()>& prepare,
                 std::string (*last_words)());

}  // namespace croton::tool
