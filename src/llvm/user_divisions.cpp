#include "user_divisions.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace croton::llvm_part {
namespace {

bool divides_integers(const llvm::BinaryOperator& operation) {
  const auto code = operation.getOpcode();
  return code == llvm::Instruction::SDiv || code == llvm::Instruction::UDiv || code == llvm::Instruction::SRem ||
         code == llvm::Instruction::URem;
}

/// Divides by 1 where the division is undefined, and selects the defined result there.
void guard(llvm::BinaryOperator& division) {
  const auto code = division.getOpcode();
  const bool is_signed = code == llvm::Instruction::SDiv || code == llvm::Instruction::SRem;
  const bool is_remainder = code == llvm::Instruction::SRem || code == llvm::Instruction::URem;
  llvm::IRBuilder<> builder(&division);
  llvm::Value *left = division.getOperand(0), *right = division.getOperand(1);
  llvm::Type* type = right->getType();
  llvm::Constant *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1);
  llvm::Value* by_zero = builder.CreateICmpEQ(right, zero);
  llvm::Value* by_minus_one = is_signed ? builder.CreateICmpEQ(right, llvm::Constant::getAllOnesValue(type)) : nullptr;
  llvm::Value* divisor = builder.CreateSelect(by_zero, one, right);
  if (is_signed) divisor = builder.CreateSelect(by_minus_one, one, divisor);
  llvm::Value* result = builder.CreateBinOp(code, left, divisor);
  if (is_signed)
    result = builder.CreateSelect(by_minus_one, is_remainder ? zero : builder.CreateSub(zero, left), result);
  result = builder.CreateSelect(by_zero, zero, result);
  division.replaceAllUsesWith(result);
  division.eraseFromParent();
}

}  // namespace

void guard_divisions(llvm::Module& module) {
  std::vector<llvm::BinaryOperator*> divisions;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      if (operation != nullptr && divides_integers(*operation)) divisions.push_back(operation);
    }
  }
  for (llvm::BinaryOperator* division : divisions) guard(*division);
}

}  // namespace croton::llvm_part
