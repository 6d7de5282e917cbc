// The part of the instrumenter that checks for faults, which would end the process or leave the text: divisions without
// a result, traps, functions that end without their return, calls through pointers, frames too large for the stack.
// Uses of undefined functions and variables are compile errors.
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "linker.hpp"
#include "simulator_instrument.hpp"
#include "simulator_passes.hpp"

namespace croton::llvm_part {
namespace {

// The numbers of src/runtime/simulator/callbacks.cpp.
enum Fault : std::uint32_t {
  fault_trap,
  fault_no_return,
  fault_divisor,
  fault_quotient,
  fault_deletion,
  fault_function_type
};

/// An instruction with a line that uses the value, through constants too; null if there is none.
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

/// Whether control cannot reach an `unreachable`, because the call before it does not return.
bool follows_noreturn(const llvm::UnreachableInst& end) {
  const llvm::Instruction* before = end.getPrevNonDebugInstruction();
  const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(before);
  return call != nullptr && (call->doesNotReturn() || is_trap(*call));
}

[[noreturn]] void reject(const llvm::GlobalValue& foreign, const char* kind) {
  std::string where;
  if (const llvm::Instruction* user = user_with_line(foreign)) {
    const llvm::DILocation& line = *user->getDebugLoc();
    where = line.getFilename().str() + ":" + std::to_string(line.getLine()) + ": ";
  }
  throw std::runtime_error(where + "error: '" + llvm::demangle(foreign.getName().str()) +
                           "' is not simulated: the text does not define it, and " + kind +
                           " of the host do not exist on a GPU");
}

bool is_deletion(llvm::StringRef name) { return name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv"); }

/// Whether tables of virtual functions refer to it without the text doing so.
bool is_vtable_function(llvm::StringRef name) {
  return name == "__cxa_pure_virtual" || name == "__cxa_deleted_virtual" || is_deletion(name);
}

constexpr const char* stub_attribute = "croton-stub";

bool is_stub(const llvm::Function& function) { return function.hasFnAttribute(stub_attribute); }

/// Adds a body for the linker only, which is never executed: calls of the function are faults.
void define_stub(llvm::Function& function) {
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(function.getContext(), "", &function));
  builder.CreateUnreachable();
  function.addFnAttr(stub_attribute);
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setDSOLocal(true);
}

/// Replaces calls of memset, memcpy and memmove, the host's own functions, by intrinsics, whose accesses are checked.
/// False if the function is another one.
bool replace_moves(llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  llvm::LLVMContext& context = function.getContext();
  llvm::Type* const pointer = llvm::PointerType::get(context, 0);
  llvm::Type* const size = llvm::Type::getInt64Ty(context);
  llvm::Type* const second = name == "memset" ? llvm::Type::getInt32Ty(context) : pointer;
  if (name != "memset" && name != "memcpy" && name != "memmove") return false;
  if (function.getFunctionType() != llvm::FunctionType::get(pointer, {pointer, second, size}, false)) return false;
  for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (call == nullptr || call->getCalledFunction() != &function) continue;
    llvm::IRBuilder<> builder(call);
    llvm::Value *to = call->getArgOperand(0), *from = call->getArgOperand(1), *bytes = call->getArgOperand(2);
    if (name == "memset")
      builder.CreateMemSet(to, builder.CreateTrunc(from, builder.getInt8Ty()), bytes, llvm::Align(1));
    else if (name == "memcpy")
      builder.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), bytes);
    else
      builder.CreateMemMove(to, llvm::Align(1), from, llvm::Align(1), bytes);
    call->replaceAllUsesWith(to);
    call->eraseFromParent();
  }
  return true;
}

/// Whether it only computes, without access to memory.
bool is_arithmetic(llvm::StringRef name) {
  return is_runtime_function(name) && !name.starts_with("mem") && name != "bcmp";
}

}  // namespace

void Instrumenter::reject_undefined_symbols(llvm::Module& module, llvm::StringRef own_prefix) {
  for (llvm::Function& function : module) {
    const llvm::StringRef name = function.getName();
    if (!function.isDeclarationForLinker() || function.isIntrinsic() || function.use_empty()) continue;
    if (name.starts_with(own_prefix) || is_arithmetic(name) || replace_moves(function)) continue;
    if (!is_vtable_function(name) || !function.isDeclaration()) reject(function, "functions");
    define_stub(function);
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclarationForLinker() && !variable.use_empty() && !variable.hasAttribute(dynamic_shared_attribute))
      reject(variable, "variables");
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

/// Adds a fault before the instruction for the case that the condition holds.
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

/// A number of the calling sequence, equal for a call and a function that agree: the types that the processor sees, and
/// where they are passed.
std::uint32_t Instrumenter::type_of(llvm::FunctionType* type, const llvm::AttributeList& attributes,
                                    unsigned convention) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  stream << convention << ' ' << *type;
  for (unsigned i = 0; i < type->getNumParams(); ++i) {
    for (const llvm::Attribute::AttrKind kind :
         {llvm::Attribute::ByVal, llvm::Attribute::StructRet, llvm::Attribute::InReg, llvm::Attribute::Nest}) {
      if (attributes.hasParamAttr(i, kind)) stream << ' ' << i << attributes.getParamAttr(i, kind).getAsString();
    }
  }
  return types_.try_emplace(stream.str(), static_cast<std::uint32_t>(types_.size())).first->second;
}

/// Checks before a call that the pointer is a function's and that the stack has room for the function called.
void Instrumenter::check_call(llvm::CallInst& call) {
  llvm::IRBuilder<> builder(&call);
  // Null also where the pointer is a constant, or a function of another type.
  const llvm::Function* callee = call.getCalledFunction();
  const std::uint32_t type = type_of(call.getFunctionType(), call.getAttributes(), call.getCallingConv());
  if (callee == nullptr) {
    builder.CreateCall(call_, {call.getCalledOperand(), builder.getInt32(type), place_of(call, builder)});
  } else if (is_stub(*callee)) {  // a deletion: no text calls __cxa_pure_virtual by name
    builder.CreateCall(fault_, {builder.getInt32(fault_deletion), place_of(call, builder)});
  } else if (!callee->isDeclaration() && type != type_of(*callee)) {
    builder.CreateCall(fault_, {builder.getInt32(fault_function_type), place_of(call, builder)});
  }
  if (callee != nullptr && callee->isDeclaration()) return;
  const std::uint64_t bytes = callee != nullptr ? frame_bytes(*callee) : most_frame_bytes_;
  llvm::Value* place = call.getDebugLoc() ? place_of(call, builder) : builder.getInt32(place_of_function(callee));
  builder.CreateCall(frame_, {builder.getInt64(bytes), place});
}

void Instrumenter::check_faults() {
  most_frame_bytes_ = 0;
  for (llvm::Function& function : module_) {
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_)) continue;
    // A frame is checked before its call; the optimiser must not merge several into one.
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
      if (!follows_noreturn(*end)) {
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
      // The cap is above every limit and keeps the product from wrapping.
      llvm::Value* capped = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, builder.getInt64(1u << 30));
      builder.CreateCall(frame_, {builder.CreateMul(capped, builder.getInt64(size)), place_of(instruction, builder)});
    }
  });
  add_functions();
}

/// Adds the table of functions that may be called through pointers.
void Instrumenter::add_functions() {
  auto* pointer = llvm::PointerType::get(module_.getContext(), 0);
  std::vector<llvm::Constant*> addresses;
  std::vector<std::uint32_t> types;
  for (llvm::Function& function : module_) {
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_) || !function.hasAddressTaken() ||
        is_stub(function))
      continue;
    addresses.push_back(&function);
    types.push_back(type_of(function));
  }
  addresses.push_back(llvm::ConstantPointerNull::get(pointer));
  types.push_back(0);
  llvm::Constant* numbers = llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef(types));
  new llvm::GlobalVariable(module_, numbers->getType(), true, llvm::GlobalValue::ExternalLinkage, numbers,
                           own_prefix_.str() + "function_types");
  auto* type = llvm::ArrayType::get(pointer, addresses.size());
  new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantArray::get(type, addresses), own_prefix_.str() + "functions");
}

}  // namespace croton::llvm_part
