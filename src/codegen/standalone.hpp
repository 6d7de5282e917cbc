// A program around one CUDA kernel, which nvcc builds: for trying a kernel by itself, and for sending it to somebody.
#pragma once

#include "codegen/emit.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace croton::codegen {

/// A kernel of a text, with the numbers of one launch.
struct StandalonePart {
  const Analysis* analysis;
  const Launch* launch;
  std::span<const std::int64_t> extents;
};

/// The whole program: the unit that NVRTC gets, then the host's part behind `standalone_mark`. Operands are as large
/// as the launch needs; those that are read at indices which the kernel computes have margins instead of a known size.
std::string standalone_program(const Text& text, std::span<const StandalonePart> parts);

/// The line that parts device code from the host's.
inline constexpr std::string_view standalone_mark =
    "// ---- the host's part: a program that launches the kernel ----\n";

}  // namespace croton::codegen
