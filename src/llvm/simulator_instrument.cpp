#include "simulator_instrument.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace croton::llvm_part {
namespace {

// The kind of an access; the bits above hold the alignment that the code relies on.
constexpr std::uint32_t writes = 1, atomic = 2, is_volatile = 4, reads = 8, block = 16, updates = 32,
                        alignment_shift = 8;

bool is_constant(const llvm::Value* object) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return variable != nullptr && variable->isConstant();
}

bool is_local(const llvm::Value* object) {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(object);
  return llvm::isa<llvm::AllocaInst>(object) || (argument != nullptr && argument->hasByValAttr());
}

// Whether a load belongs to a write of a part of the loaded value: a bit field, an element of a vector. The other parts
// are stored unchanged, and need not have been initialised.
bool is_for_partial_write(const llvm::LoadInst& load) {
  if (!load.hasOneUse()) return false;
  const auto* part = llvm::cast<llvm::Instruction>(load.user_back());
  if (part->getOpcode() == llvm::Instruction::And) {
    // Recognised by Clang's own names, which texts cannot choose: `*p = *p & 3 | x` has the same form, but reads.
    if (!load.getName().starts_with("bf.load") || !part->getName().starts_with("bf.clear") || !part->hasOneUse())
      return false;
    part = llvm::cast<llvm::Instruction>(part->user_back());
  } else if (!llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(part)) {
    return false;
  }
  const auto* store = part->hasOneUse() ? llvm::dyn_cast<llvm::StoreInst>(part->user_back()) : nullptr;
  return store != nullptr && store->getPointerOperand() == load.getPointerOperand();
}

std::uint32_t kind_of(bool access_is_atomic, bool access_is_volatile) {
  return (access_is_atomic ? atomic : 0u) | (access_is_volatile ? is_volatile : 0u);
}

}  // namespace

Instrumenter::Instrumenter(llvm::Module& module, llvm::StringRef own_prefix, llvm::StringRef wait_prefix)
    : module_(module), layout_(module.getDataLayout()), own_prefix_(own_prefix), wait_prefix_(wait_prefix) {
  llvm::LLVMContext& context = module.getContext();
  auto* nothing = llvm::Type::getVoidTy(context);
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* word = llvm::Type::getInt32Ty(context);
  auto* size = llvm::Type::getInt64Ty(context);
  access_ = module.getOrInsertFunction("croton_simulator_access", nothing, pointer, size, word, word);
  local_access_ =
      module.getOrInsertFunction("croton_simulator_local_access", nothing, pointer, size, word, word, pointer, size);
  at_ = module.getOrInsertFunction("croton_simulator_at", nothing, word);
  fault_ = module.getOrInsertFunction("croton_simulator_fault", nothing, word, word);
  call_ = module.getOrInsertFunction("croton_simulator_call", nothing, pointer, word, word);
  frame_ = module.getOrInsertFunction("croton_simulator_frame", nothing, size, word);
  turn_ = module.getOrInsertFunction("croton_simulator_turn", nothing, word);
}

void Instrumenter::check_blocks() {
  each_instruction([&](llvm::Instruction& instruction) {
    auto* move = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
    if (move == nullptr) return;
    if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(move))
      check_block(*move, transfer->getRawSource(), transfer->getSourceAlign().valueOrOne(), reads | block);
    check_block(*move, move->getRawDest(), move->getDestAlign().valueOrOne(), writes | block);
  });
}

void Instrumenter::check_accesses() {
  each_instruction([&](llvm::Instruction& instruction) { visit(instruction); });
  count_turns();
}

void Instrumenter::count_turns() {
  for (llvm::Function& function : module_) {
    if (function.isDeclaration() || function.getName().starts_with(own_prefix_)) continue;
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
    llvm::FindFunctionBackedges(function, edges);
    for (const auto& [from, to] : edges) {
      auto* jump = const_cast<llvm::Instruction*>(from->getTerminator());
      llvm::IRBuilder<> builder(jump);
      builder.CreateCall(turn_, {place_of(*jump, builder)});
    }
  }
}

void Instrumenter::visit(llvm::Instruction& instruction) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    check(instruction, load->getPointerOperand(), load->getType(), load->getAlign(),
          (is_for_partial_write(*load) ? 0u : reads) | kind_of(load->isAtomic(), load->isVolatile()));
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    check(instruction, store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(),
          writes | kind_of(store->isAtomic(), store->isVolatile()));
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    const std::uint32_t read = update->getOperation() == llvm::AtomicRMWInst::Xchg ? 0u : reads;
    check(instruction, update->getPointerOperand(), update->getType(), update->getAlign(),
          read | writes | atomic | updates);
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    check(instruction, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), exchange->getAlign(),
          reads | writes | atomic | updates);
  } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    const llvm::Function* callee = call->getCalledFunction();
    if (callee == nullptr || !callee->getName().starts_with(wait_prefix_)) return;
    llvm::IRBuilder<> builder(call);
    builder.CreateCall(at_, {place_of(*call, builder)});
  }
}

void Instrumenter::check(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Type* type, llvm::Align alignment,
                         std::uint32_t kind) {
  llvm::IRBuilder<> builder(&instruction);
  emit(instruction, pointer, builder.getInt64(layout_.getTypeStoreSize(type).getFixedValue()), alignment, kind);
}

void Instrumenter::check_block(llvm::MemIntrinsic& move, llvm::Value* pointer, llvm::Align alignment,
                               std::uint32_t kind) {
  llvm::IRBuilder<> builder(&move);
  emit(move, pointer, builder.CreateZExtOrTrunc(move.getLength(), builder.getInt64Ty()), alignment, kind);
}

// The size in bytes of a local, a parameter or a constant, if it is known.
std::optional<std::uint64_t> Instrumenter::size_of(const llvm::Value* object) const {
  if (const auto* local = llvm::dyn_cast<llvm::AllocaInst>(object)) {
    const auto size = local->getAllocationSize(layout_);
    if (size && !size->isScalable()) return size->getFixedValue();
  }
  if (const auto* constant = llvm::dyn_cast<llvm::GlobalVariable>(object))
    return layout_.getTypeAllocSize(constant->getValueType()).getFixedValue();
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object))
    return layout_.getTypeAllocSize(argument->getParamByValType()).getFixedValue();
  return std::nullopt;
}

// Whether an access of a local or a constant is certainly valid. Else `object` is the accessed one, if there is only
// one.
bool Instrumenter::needs_no_check(const llvm::Value* pointer, const llvm::Value* size, bool is_write,
                                  llvm::Value*& object, std::uint64_t& object_size) const {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  if (!llvm::all_of(objects, [](const llvm::Value* o) { return is_local(o) || is_constant(o); })) return false;
  if (objects.size() != 1 || (is_write && is_constant(objects[0]))) return false;
  const std::optional<std::uint64_t> bytes = size_of(objects[0]);
  if (!bytes) return true;
  llvm::APInt offset(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
  const auto* known_size = llvm::dyn_cast<llvm::ConstantInt>(size);
  if (base == objects[0] && known_size != nullptr && !offset.isNegative() &&
      offset.getZExtValue() + known_size->getZExtValue() <= *bytes)
    return true;
  object = const_cast<llvm::Value*>(objects[0]);
  object_size = *bytes;
  return false;
}

void Instrumenter::emit(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Value* size, llvm::Align alignment,
                        std::uint32_t kind) {
  llvm::Value* object = nullptr;
  std::uint64_t object_size = 0;
  if (needs_no_check(pointer, size, (kind & writes) != 0, object, object_size)) return;
  llvm::IRBuilder<> builder(&instruction);
  const auto known = static_cast<std::uint32_t>(std::min<std::uint64_t>(alignment.value(), 1u << 20));
  llvm::Value* const access = builder.getInt32(kind | known << alignment_shift);
  llvm::Value* const place = place_of(instruction, builder);
  if (object == nullptr) {
    builder.CreateCall(access_, {pointer, size, access, place});
  } else {
    builder.CreateCall(local_access_, {pointer, size, access, place, object, builder.getInt64(object_size)});
  }
}

llvm::Value* Instrumenter::place_of(const llvm::Instruction& instruction, llvm::IRBuilder<>& builder) {
  const llvm::DILocation* location = instruction.getDebugLoc().get();
  if (location == nullptr) return builder.getInt32(0);
  std::uint32_t& place = places_[location];
  if (place == 0) {
    place = ++place_count_;
    for (; location != nullptr; location = location->getInlinedAt()) {
      if (location->getLine() != 0) lines_.push_back(location->getLine());
    }
    lines_.push_back(0);
  }
  return builder.getInt32(place);
}

/// The place of the function's first line; 0 if it is unknown.
std::uint32_t Instrumenter::place_of_function(const llvm::Function* function) {
  const llvm::DISubprogram* subprogram = function != nullptr ? function->getSubprogram() : nullptr;
  if (subprogram == nullptr || subprogram->getLine() == 0) return 0;
  std::uint32_t& place = function_places_[subprogram];
  if (place == 0) {
    place = ++place_count_;
    lines_.insert(lines_.end(), {subprogram->getLine(), 0u});
  }
  return place;
}

void Instrumenter::add_places() {
  std::vector<std::uint32_t> words = {place_count_};
  words.insert(words.end(), lines_.begin(), lines_.end());
  words.push_back(0);
  llvm::Constant* value = llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef(words));
  new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                           "croton_simulator_places");
}

}  // namespace croton::llvm_part
