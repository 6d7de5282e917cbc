// Running what is not trusted in a process of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace croton::tool {

struct Limits {
  std::size_t memory_bytes = std::size_t{4} << 30;  // of addresses
  unsigned seconds = 300;                           // of the processor's time
};

/// In a child process, with limits and in an empty folder: `prepare()`, which may still read files; then, without any
/// way to files, the network or other processes, the work that it gave. What they print comes out here. Gives the
/// status of the work; 1, with a line on the standard error, where the child was ended by a signal. `last_words`: what
/// the child says of where it was, asked for by its handler of signals.
int run_confined(const Limits& limits, const std::function<std::function<int()>()>& prepare,
                 std::string (*last_words)());

}  // namespace croton::tool
