// A standalone CUDA program for one kernel, which nvcc can compile: for experiments with the kernel, and
// for bug reports.
#pragma once

#include "codegen/emit.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace croton::codegen {

/// A kernel of a text, and the numbers of one launch.
struct StandalonePart {
  const Analysis* analysis;
  const Launch* launch;
  Schedule schedule;
  std::span<const std::int64_t> extents;
};

/// The whole program: the text that NVRTC compiles, and after `standalone_mark` the host code. Operands are as large as
/// the launch needs. Operands that are read at computed indices have margins instead of a known size.
std::string standalone_program(const Text& text, std::span<const StandalonePart> parts);

/// The line between the device code and the host code.
inline constexpr std::string_view standalone_mark =
    "// ---- the host's part: a program that launches the kernel ----\n";

}  // namespace croton::codegen
