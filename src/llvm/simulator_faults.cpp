// The part of the instrumenter that stands before what would end the process, or leave the text: divisions that have no
// result, traps, the ends of functions that lack their return, calls through pointers, frames that the stack has no
// room for. And calls of what the text does not define, which are errors.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "linker.hpp"
#include "simulator_instrument.hpp"

namespace croton::llvm_part {
namespace {

// As src/runtime/simulator/callbacks.cpp counts them.
enum Fault : std::uint32_t { fault_trap, fault_no_return, fault_divisor, fault_quotient };

/// An instruction that uses the value, through constants too; null where there is none with a line.
const llvm::Instruction* user_with_line(const llvm::Value& value) {
  for (const llvm::User* user : value.users()) {
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) {
      if (instruction->getDebugLoc()) return instruction;
    } else if (llvm::isa<llvm::Constant>(user)) {
      if (const llvm::Instruction* found = user_with_line(*user)) return found;
    }
  }
  return nullptr;
}

bool is_trap(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return false;
  const llvm::Intrinsic::ID id = call->getIntrinsicID();
  return id == llvm::Intrinsic::trap || id == llvm::Intrinsic::debugtrap || id == llvm::Intrinsic::ubsantrap;
}

/// Whether control cannot come to an `unreachable`, because what stands before it does not give it back.
bool follows_an_end(const llvm::UnreachableInst& end) {
  const llvm::Instruction* before = end.getPrevNonDebugInstruction();
  const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(before);
  return call != nullptr && (call->doesNotReturn() || is_trap(*call));
}

}  // namespace

void Instrumenter::refuse_foreign_functions() const {
  for (const llvm::Function& function : module_) {
    const llvm::StringRef name = function.getName();
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty()) continue;
    if (name.starts_with(own_prefix_) || is_runtime_function(name)) continue;
    const llvm::Instruction* user = user_with_line(function);
    std::string where;
    if (user != nullptr) {
      const llvm::DILocation& line = *user->getDebugLoc();
      where = line.getFilename().str() + ":" + std::to_string(line.getLine()) + ": ";
    }
    throw std::runtime_error(where + "error: '" + name.str() +
                             "' is not simulated: the text does not define it, and functions of the host are not "
                             "there on a GPU");
  }
}

std::uint64_t Instrumenter::frame_bytes(const llvm::Function& function) const {
  std::uint64_t bytes = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (local != nullptr && local->isStaticAlloca()) bytes += size_of(local).value_or(0);
  }
  return bytes;
}

/// Before the instruction, where the condition holds.
void Instrumenter::stop_if(llvm::Value* condition, llvm::Instruction& instruction, std::uint32_t fault) {
  llvm::IRBuilder<> builder(&instruction);
  llvm::Value* place = place_of(instruction, builder);
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(condition, &instruction, /*Unreachable=*/false);
  builder.SetInsertPoint(then);
  builder.CreateCall(fault_, {builder.getInt32(fault), place});
}

void Instrumenter::check_division(llvm::BinaryOperator& division) {
  llvm::Value *left = division.getOperand(0), *right = division.getOperand(1);
  llvm::IRBuilder<> builder(&division);
  const auto any = [&](llvm::Value* condition) {
    return condition->getType()->isVectorTy() ? builder.CreateOrReduce(condition) : condition;
  };
  llvm::Type* type = right->getType();
  const unsigned bits = type->getScalarSizeInBits();
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(right);
  const bool is_signed =
      division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem;
  if (known == nullptr || known->isZero())
    stop_if(any(builder.CreateICmpEQ(right, llvm::Constant::getNullValue(type))), division, fault_divisor);
  if (!is_signed || (known != nullptr && !known->isMinusOne())) return;
  builder.SetInsertPoint(&division);
  llvm::Constant* lowest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits));
  stop_if(any(builder.CreateAnd(builder.CreateICmpEQ(right, llvm::Constant::getAllOnesValue(type)),
                                builder.CreateICmpEQ(left, lowest))),
          division, fault_quotient);
}

/// Before a call: whether the pointer is a function's, and the stack has room for what is called.
void Instrumenter::check_call(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  if (call.isIndirectCall()) builder.CreateCall(call_, {call.getCalledOperand(), place_of(call, builder)});
  const llvm::Function* callee = call.getCalledFunction();
  if (callee != nullptr && callee->isDeclaration()) return;
  const std::uint64_t bytes = callee != nullptr ? frame_bytes(*callee) : most_frame_bytes_;
  llvm::Value* place = call.getDebugLoc() ? place_of(call, builder) : builder.getInt32(place_of_function(callee));
  builder.CreateCall(frame_, {builder.getInt64(bytes), place});
}

void Instrumenter::check_faults() {
  refuse_foreign_functions();
  most_frame_bytes_ = 0;
  for (llvm::Function& function : module_) {
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_)) continue;
    // A frame is looked at before its call; the optimiser must not make one of several.
    if (!function.hasFnAttribute(llvm::Attribute::AlwaysInline)) function.addFnAttr(llvm::Attribute::NoInline);
    most_frame_bytes_ = std::max(most_frame_bytes_, frame_bytes(function));
  }
  std::vector<llvm::Instruction*> calls;
  for (llvm::Function& function : module_) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction))
        calls.push_back(&instruction);
    }
  }
  for (llvm::Instruction* call : calls) check_call(llvm::cast<llvm::CallInst>(*call));
  each_instruction([&](llvm::Instruction& instruction) {
    llvm::IRBuilder<> builder(&instruction);
    if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
        operation != nullptr && operation->isIntDivRem()) {
      check_division(*operation);
    } else if (auto* end = llvm::dyn_cast<llvm::UnreachableInst>(&instruction)) {
      if (!follows_an_end(*end)) {
        llvm::Value* place =
            end->getDebugLoc() ? place_of(*end, builder) : builder.getInt32(place_of_function(end->getFunction()));
        builder.CreateCall(fault_, {builder.getInt32(fault_no_return), place});
      }
    } else if (is_trap(instruction)) {
      builder.CreateCall(fault_, {builder.getInt32(fault_trap), place_of(instruction, builder)});
    } else if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
               local != nullptr && !local->isStaticAlloca()) {
      const std::uint64_t size = layout_.getTypeAllocSize(local->getAllocatedType()).getFixedValue();
      llvm::Value* count = builder.CreateZExtOrTrunc(local->getArraySize(), builder.getInt64Ty());
      // What is too much is too much as it is, without wrapping.
      llvm::Value* capped = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, builder.getInt64(1u << 30));
      builder.CreateCall(frame_, {builder.CreateMul(capped, builder.getInt64(size)), place_of(instruction, builder)});
    }
  });
  add_functions();
}

/// What a pointer may be called for.
void Instrumenter::add_functions() {
  auto* pointer = llvm::PointerType::get(module_.getContext(), 0);
  std::vector<llvm::Constant*> addresses;
  for (llvm::Function& function : module_) {
    if (!function.isDeclaration() && !function.getName().starts_with(own_prefix_) && function.hasAddressTaken())
      addresses.push_back(&function);
  }
  addresses.push_back(llvm::ConstantPointerNull::get(pointer));
  auto* type = llvm::ArrayType::get(pointer, addresses.size());
  new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantArray::get(type, addresses), own_prefix_.str() + "functions");
}

}  // namespace croton::llvm_part
