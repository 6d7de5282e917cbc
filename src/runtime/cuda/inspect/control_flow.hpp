// The control flow of a kernel's code: blocks of instructions, the edges between them, and the loops.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/cuda/inspect/instructions.hpp"

namespace croton::runtime::cuda {

using BlockIndex = std::size_t;

/// Instructions that run one after the other, and the blocks that may run next.
struct CodeBlock {
  std::size_t begin = 0, end = 0;  ///< instructions of the code
  std::vector<BlockIndex> next;    ///< the one that follows in memory first; empty: the end of the kernel or subroutine
};

/// A natural loop: all ways from its header back to itself.
struct CodeLoop {
  BlockIndex header = 0;
  std::vector<bool> contains;        ///< per block
  std::vector<BlockIndex> latches;   ///< blocks with an edge back to the header
  std::optional<std::size_t> outer;  ///< the index of the smallest loop around it
  int depth = 1;
};

struct ControlFlow {
  std::vector<CodeBlock> blocks;
  std::vector<CodeLoop> loops;  ///< outer loops before those inside of them
  /// The block that begins at this instruction.
  BlockIndex block_at(std::size_t instruction) const;
  /// Whether a loop is inside of another one.
  bool is_inside(std::size_t loop, std::size_t outer) const;
  /// Blocks that are reached from the block without calls, by index.
  std::vector<bool> reachable(BlockIndex from) const;
};

/// Finds blocks and loops. A call is no edge: control comes back to the next instruction. A jump to a computed place
/// ends its block.
ControlFlow find_control_flow(const Code& code);

}  // namespace croton::runtime::cuda
