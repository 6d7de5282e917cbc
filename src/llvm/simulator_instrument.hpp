// Instrumentation for the checked simulator: calls of the simulator before accesses of memory, waits and faults.
//  - `croton_simulator_access(address, size, kind, place)` is called before each access. ThreadSanitizerPass would not
//    suffice: our calls cover every size, pass the place and the alignment that the code relies on, and come before the
//    access even where a write follows a read.
//  - `croton_simulator_local_access`, with the array's bounds, is called for a local array at an unknown index; other
//    locals and constants need no check.
//  - `croton_simulator_at(place)` is called before a wait for other threads.
//  - `croton_simulator_fault(which, place)` is called instead of a fault that would end the process.
//  - `croton_simulator_call(pointer, type, place)` is called before a call through a pointer. It looks for the pointer
//    in `croton_simulator_functions` and for its type in `croton_simulator_function_types`.
//  - `croton_simulator_frame(bytes, place)` is called before each call of a function and checks the room on the stack.
//  - `croton_simulator_turn(place)` is called at the back edge of a loop; it detects loops without an end.
//  - Places are numbers from 1. `croton_simulator_places` lists them: their count, then for each the line of the
//    access, the lines of the calls that were inlined around it, and 0.
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
  /// `own_prefix` begins the names of the simulator's functions, `wait_prefix` those of its functions that wait.
  Instrumenter(llvm::Module& module, llvm::StringRef own_prefix, llvm::StringRef wait_prefix);

  /// Throws std::runtime_error, with the line, if the text uses functions or variables that it does not define, which
  /// would be the host's (simulator_faults.cpp).
  static void reject_undefined_symbols(llvm::Module& module, llvm::StringRef own_prefix);

  /// Faults: what would end the process or leave the text. Runs first, on the complete code (simulator_faults.cpp).
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
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_)) continue;  // the simulator's
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  }
  for (llvm::Instruction* instruction : instructions) visit(*instruction);
}

}  // namespace croton::llvm_part
