// Programs of CUDA, nvdisasm and compute-sanitizer: searched in the places of CUDA's libraries and on PATH. A file that
// any user of the machine could have written is refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/cuda/toolkit/toolkit.hpp"

namespace croton::runtime::cuda {

struct ProgramSearch {
  std::filesystem::path path;           ///< of the program; empty if there is none
  Place place = Place::system;          ///< of the path
  std::vector<std::string> candidates;  ///< every place searched, each with the outcome
};

/// Searches under the current settings (toolkit.hpp): only the file that a flag names, or else all places.
ProgramSearch find_program(ToolkitPart part);

/// The program of find_program(). DeviceError, with the places searched and the package that has it, if there is none;
/// ConfigError if a flag names a file that is missing or refused.
ProgramSearch require_program(ToolkitPart part);

/// The version that a program prints with --version; empty if it prints none. FileError if it cannot be run.
std::string version_of_program(const std::filesystem::path& program);

/// "13.0.39" in the output of nvdisasm ("release 13.0, V13.0.39"), "2025.3.0.0" in that of compute-sanitizer
/// ("Version 2025.3.0.0 (build 1)"). Public for tests.
std::string version_in(const std::string& printed);

}  // namespace croton::runtime::cuda
