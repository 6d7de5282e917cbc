// Running another program, the only code that does so. There is no shell, the program is named by its path, and its
// environment has only LC_ALL=C, for messages in English.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace croton::base {

/// The result of a program.
struct ProgramResult {
  int status = 0;  ///< exit status; 128 plus the signal's number if a signal ended it
  std::string output, errors;
};

/// The path by which the program can open run_program's `input`, for its arguments.
inline constexpr const char* input_path = "/proc/self/fd/3";

/// Runs a program until it ends. `input` is given as a file in memory (input_path), so that nothing is written to disk.
/// FileError, which names the program, if it cannot be started or if every user of the machine could replace it.
ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          std::span<const std::byte> input);

}  // namespace croton::base
