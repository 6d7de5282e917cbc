// Calls before accesses of memory: `croton_simulator_access(address, size, kind, place)`. Our own calls instead of
// ThreadSanitizerPass: every size is covered, the place and the alignment that the code relies on come along, and the
// call stands before the access even where a write follows a read.
//  - A local array at an index that is not known becomes `croton_simulator_local_access`, with the array's bounds;
//  other
//    locals and constants need no check.
//  - Before a wait for other threads stands `croton_simulator_at(place)`.
//  - Before what would end the process stands `croton_simulator_fault(which, place)`, where it would; before a call
//    through a pointer `croton_simulator_call(pointer, type, place)`, which looks for it in
//    `croton_simulator_functions` and for its type in `croton_simulator_function_types`; before each call of a function
//    `croton_simulator_frame(bytes, place)`, for the room on the stack.
//  - Where a loop goes back to its beginning stands `croton_simulator_turn(place)`, so that one without an end is
//  found.
//  - Places are numbers from 1. `croton_simulator_places` says what they stand for: how many there are, then the lines
//    of each, that of the access first, then those that called the inlined function, then 0.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
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

  /// std::runtime_error with the line where functions or variables are used that the text does not define, as they are
  /// of the host (simulator_faults.cpp).
  static void refuse_foreign(llvm::Module& module, llvm::StringRef own_prefix);

  /// What would end the process or leave the text; first, while all of it is there (simulator_faults.cpp).
  void check_faults();
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
  bool needs_no_check(const llvm::Value* pointer, const llvm::Value* size, bool is_write, llvm::Value*& object,
                      std::uint64_t& object_size) const;
  llvm::Value* place_of(const llvm::Instruction& instruction, llvm::IRBuilder<>& builder);
  std::uint32_t place_of_function(const llvm::Function* function);

  std::uint64_t frame_bytes(const llvm::Function& function) const;
  void stop_if(llvm::Value* condition, llvm::Instruction& instruction, std::uint32_t fault);
  void check_division(llvm::BinaryOperator& division);
  std::uint32_t type_of(llvm::FunctionType* type, const llvm::AttributeList& attributes, unsigned convention);
  std::uint32_t type_of(const llvm::Function& function) {
    return type_of(function.getFunctionType(), function.getAttributes(), function.getCallingConv());
  }
  void check_call(llvm::CallInst& call);
  void add_functions();

  template <class Visit>
  void each_instruction(const Visit& visit);

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::StringRef own_prefix_, wait_prefix_;
  llvm::FunctionCallee access_, local_access_, at_, turn_, fault_, call_, frame_;
  std::uint64_t most_frame_bytes_ = 0;
  llvm::StringMap<std::uint32_t> types_;  // of functions
  llvm::DenseMap<const llvm::DILocation*, std::uint32_t> places_;
  llvm::DenseMap<const llvm::DISubprogram*, std::uint32_t> function_places_;
  std::uint32_t place_count_ = 0;
  std::vector<std::uint32_t> lines_;
};

template <class Visit>
void Instrumenter::each_instruction(const Visit& visit) {
  llvm::SmallVector<llvm::Instruction*, 64> instructions;
  for (llvm::Function& function : module_) {
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_)) continue;  // entries
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  }
  for (llvm::Instruction* instruction : instructions) visit(*instruction);
}

}  // namespace croton::llvm_part
