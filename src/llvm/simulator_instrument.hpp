// Calls before accesses of memory: `croton_simulator_access(address, size, kind, place)`. Our own calls instead of
// ThreadSanitizerPass: every size is covered, the place and the alignment that the code relies on come along, and the
// call stands before the access even where a write follows a read.
//  - A local array at an index that is not known becomes `croton_simulator_local_access`, with the array's bounds;
//  other
//    locals and constants need no check.
//  - Before a wait for other threads stands `croton_simulator_at(place)`.
//  - Where a loop goes back to its beginning stands `croton_simulator_turn(place)`, so that one without an end is
//  found.
//  - Places are numbers from 1. `croton_simulator_places` says what they stand for: how many there are, then the lines
//    of each, that of the access first, then those that called the inlined function, then 0.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace croton::llvm_part {

class Instrumenter {
 public:
  /// `own_prefix`: the names of functions that are the simulator's; `wait_prefix`: of those that wait.
  Instrumenter(llvm::Module& module, llvm::StringRef own_prefix, llvm::StringRef wait_prefix);

  /// Block moves: structs and arrays as a whole.
  void check_blocks();
  /// All other accesses, waits and loops.
  void check_accesses();
  void add_places();

 private:
  void count_turns();
  void visit(llvm::Instruction& instruction);
  void check(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Type* type, llvm::Align alignment,
             std::uint32_t kind);
  void check_block(llvm::MemIntrinsic& move, llvm::Value* pointer, llvm::Align alignment, std::uint32_t kind);
  void emit(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Value* size, llvm::Align alignment,
            std::uint32_t kind);
  std::optional<std::uint64_t> size_of(const llvm::Value* object) const;
  bool needs_no_check(const llvm::Value* pointer, const llvm::Value* size, llvm::Value*& object,
                      std::uint64_t& object_size) const;
  llvm::Value* place_of(const llvm::Instruction& instruction, llvm::IRBuilder<>& builder);

  template <class Visit>
  void each_instruction(const Visit& visit);

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::StringRef own_prefix_, wait_prefix_;
  llvm::FunctionCallee access_, local_access_, at_, turn_;
  llvm::DenseMap<const llvm::DILocation*, std::uint32_t> places_;
  std::vector<std::uint32_t> lines_;
};

}  // namespace croton::llvm_part
