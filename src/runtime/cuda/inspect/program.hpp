// Programs of CUDA, nvdisasm and compute-sanitizer: searched where the libraries of CUDA are and on PATH. One that
// every user of the machine could have put there is refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/cuda/libraries/toolkit.hpp"

namespace croton::runtime::cuda {

struct ProgramSearch {
  std::filesystem::path path;           ///< of the program; empty where there is none
  Place place = Place::system;          ///< of the path
  std::vector<std::string> candidates;  ///< every place searched, with what was found there
};

/// Searches under the present settings (toolkit.hpp): the file that a flag names, and that one alone, or all places.
ProgramSearch find_program(ToolkitPart part);

/// The program, as find_program() finds it. DeviceError, with what was searched and the package that has it, where
/// there is none; ConfigError where a flag names a file that is missing or refused.
ProgramSearch require_program(ToolkitPart part);

/// The version that a program prints when it is run with --version; empty where it prints none. FileError where it
/// cannot be run.
std::string version_of_program(const std::filesystem::path& program);

/// "13.0.39" of what nvdisasm prints ("release 13.0, V13.0.39"), "2025.3.0.0" of what compute-sanitizer prints
/// ("Version 2025.3.0.0 (build 1)"). Apart for tests.
std::string version_in(const std::string& printed);

}  // namespace croton::runtime::cuda
