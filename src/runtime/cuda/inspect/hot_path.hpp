// Hot paths: the instructions of a kernel that run for every element. A kernel can have several, one for each of its
// passes over memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/cuda/inspect/control_flow.hpp"

namespace croton::runtime::cuda {

/// A way through the code once: one iteration of a loop without the loops inside of it, or the kernel without loops.
struct CodePath {
  std::optional<std::size_t> loop;        ///< its index in ControlFlow::loops; none: the kernel without loops
  std::vector<std::size_t> instructions;  ///< in order; those of subroutines are not among them
  std::vector<std::size_t> accesses;      ///< those of them that load or store global memory, whose guards let them
  std::int64_t called_instructions = 0;   ///< of the subroutines that it calls, each by its shortest way
  std::int64_t global_bytes = 0;          ///< that these access
  /// Instructions that one thread runs: predicated ones count, because they take their turn.
  std::int64_t length() const { return static_cast<std::int64_t>(instructions.size()) + called_instructions; }
};

/// The way of a loop (or of the kernel) that accesses most memory, since guards of tails and of failures skip accesses;
/// among equal ones the shortest, since slow ways, as for wide divisions and denormal numbers, are exceptions. No way
/// takes branches or accesses that contradict each other (path_facts.hpp): a thread that loads a full pack computes
/// with it. Loops inside that do not access global memory run once if no shorter way avoids them. Nothing if the loop
/// cannot come back to its header or the kernel cannot end.
std::optional<CodePath> main_path(const Code& code, const ControlFlow& flow, std::optional<std::size_t> loop);

struct HotPaths {
  /// Those that access global memory for each element: without a loop inside that accesses it. A path with at least
  /// four times the bytes of all loops inside of it is hot itself, as one of a tile, and those loops are its tails.
  std::vector<CodePath> hot;
  std::vector<CodePath> around;  ///< those that access it, too, around hot loops: for each row, for example
};
/// The paths of loops, and of the kernel, in the order of the code.
HotPaths hot_paths(const Code& code, const ControlFlow& flow);

/// The largest number of bytes that a thread has requested from global memory before it needs the first of them, for a
/// path that is run again and again.
std::int64_t bytes_in_flight(const Code& code, const CodePath& path);

}  // namespace croton::runtime::cuda
