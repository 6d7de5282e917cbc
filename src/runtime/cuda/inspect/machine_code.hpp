// Figures of the machine code of one entry of a kernel: what its hot paths access and how many instructions they need
// for an element, and what the whole code does that costs time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/inspect/hot_path.hpp"

namespace croton::runtime::cuda {

/// Accesses of global memory by their width in bytes.
using Widths = std::map<int, int>;

/// A pass over memory: the main path among those whose accesses come from the same lines of the kernel's text, and are
/// called from the same lines. The others are its tails. The work of the last block of a launch for all is none.
struct Pass {
  bool in_loop = false;
  std::int64_t instructions = 0;  ///< of one thread on the path
  std::int64_t elements = 0;      ///< that it advances: of the operand of which the path accesses most
  std::int64_t calls = 0;         ///< of divisions and the like in a loop, with its tails
  std::int64_t local = 0;         ///< accesses of local memory on the path
  std::int64_t in_flight = 0;     ///< bytes that a thread requests before it needs the first of them
  Widths loads, stores;
  Widths scalars = {};  ///< of the loads, those of one element by all threads of a block, which comes from the cache
};

struct MachineCode {
  std::string entry;
  std::vector<Pass> passes;
  Widths loads, stores;  ///< of the whole code
  std::int64_t local_loads = 0, local_stores = 0;
  std::int64_t code_bytes = 0;

  /// Instructions of one thread for an element, over all passes; 0 without passes.
  double instructions_per_element() const;
  /// Calls of subroutines in the loops of all passes.
  std::int64_t calls_in_hot_loops() const;
  /// The smallest number of bytes in flight of a pass that loads; 0 without one.
  std::int64_t in_flight() const;
  /// Loads and stores of all passes with less than 16 bytes, without those of scalars.
  std::int64_t narrow_accesses() const;
  /// Whether there are passes without narrow accesses.
  bool hot_accesses_are_wide() const;
};

/// The text from which the code was compiled: it tells which operand an instruction accesses.
struct KernelText {
  std::string_view source;  ///< the kernel's own text
  int prelude_lines = 0;    ///< lines of the program before it
};

/// The figures of each function of a listing by nvdisasm, with places (disassemble(cubin, true)).
std::vector<MachineCode> read_machine_code(std::string_view listing, const KernelText& text);

/// The bytes of an element of the operand that a line of the text accesses ("p.p3[...]"), from the declaration before
/// it
/// ("const float* p3;"); 0 if the line accesses none.
int element_bytes(const KernelText& text, int line);

}  // namespace croton::runtime::cuda
