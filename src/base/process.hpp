// Running another program: the one place that starts one. There is no shell, the program is named by its path, and it
// gets no environment of ours but the plain language of messages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace croton::base {

/// What a program left behind.
struct Finished {
  int status = 0;  ///< what it exited with; 128 and the signal's number where a signal ended it
  std::string output, errors;
};

/// Where the program finds `input` of run_program, as a file to name in its arguments.
inline constexpr const char* input_path = "/proc/self/fd/3";

/// Runs a program until it ends. `input` is a file of its own in memory (input_path), so that nothing is written to
/// disk. FileError, naming the program, where it cannot be started or where it could be replaced by any user of the
/// machine.
Finished run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                     std::span<const std::byte> input);

}  // namespace croton::base
