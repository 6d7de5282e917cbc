// The instructions of a kernel, from the text of nvdisasm: opcodes, guards, operands, and the targets of branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/inspect/sass.hpp"

namespace croton::runtime::cuda {

/// The memory that an instruction accesses.
enum class Space : std::uint8_t { none, global, shared, local };

struct Instruction {
  std::string guard;            ///< "P0", "!UP1": the predicate without which it does nothing; empty: always
  std::string opcode;           ///< with its modifiers: "LDG.E.128.CONSTANT"
  std::string operands;         ///< the text after the opcode
  std::string target;           ///< the label that it names; empty if none
  std::vector<int> lines;       ///< of the program, as in SassLine
  bool is_exceptional = false;  ///< it belongs to the way of a failed check, or to what the last block of a launch does
                                ///< for all; set by readers of the kernel's text

  /// Whether the opcode has this name, whatever its modifiers are.
  bool is(std::string_view name) const;
  bool has_modifier(std::string_view modifier) const;
  /// The memory of a load, store or atomic operation.
  Space space() const;
  bool loads() const;
  bool stores() const;
  /// Whether it loads or stores global memory, as a thread does for its own elements.
  bool counts_as_access() const;
  /// Bytes of a load or store of one thread; 0 for other instructions.
  int bytes() const;
  /// General registers that a load writes: its first operand. Empty for other instructions.
  std::vector<int> loaded_registers() const;
  /// Whether it reads this general register: as an operand other than the result, a part of an address included.
  bool reads(int general_register) const;
};

/// The code of one function. Subroutines, such as those of divisions, are parts of the code of their caller.
struct Code {
  std::string name;
  std::vector<Instruction> instructions;
  std::map<std::string, std::size_t> labels;  ///< the instruction after each label
};

/// The instructions of a disassembled function.
Code read_code(const SassFunction& function);

}  // namespace croton::runtime::cuda
