// How it is done:
//  - A shared variable (Clang leaves those without a value, and no others) becomes `croton_simulator_shared_base() +
//  offset`, so that each block in flight has its own. The
//    optimiser could turn a kernel's only use of a scalar into a local otherwise, since Clang says that kernels do not
//    recurse.
//  - Before each load, store, atomic and block move whose object is not known to be a local or a constant stands a call
//    `croton_simulator_access(address, size, kind, line)`. Our own calls instead of ThreadSanitizerPass: every size is
//    covered, the line and the alignment that the code relies on come along, and the call stands before the access even
//    where a write follows a read.
//  - Before a wait for other threads stands `croton_simulator_at(line)`.
//  - `croton_simulator_program` tells the simulator what it needs to know: {traits, shared bytes, n, offset 1, size 1,
//  ...}, and
//    `croton_simulator_names` the names of those n variables, a line each.
#include "simulator_passes.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>
#include <string>
#include <vector>

namespace croton::llvm_part {
namespace {

constexpr llvm::StringRef entry_prefix = "croton_simulator_entry_";
constexpr llvm::StringRef wait_prefix = "croton_simulator_wait_";
constexpr std::uint64_t least_alignment = 16;
constexpr std::uint64_t guard_gap =
    64;  // around shared variables of checked programs: a wrong index meets nobody's bytes

// The kind of an access (and, above, the alignment that the code relies on), and what a program does.
constexpr std::uint32_t writes = 1, atomic = 2, alignment_shift = 8;
constexpr std::uint64_t trait_waits = 1, trait_checked = 2;

// ---- Shared variables

struct SharedVariable {
  llvm::GlobalVariable* variable;
  std::uint64_t offset;
  std::uint64_t size;
};

struct SharedLayout {
  std::vector<SharedVariable> variables;                 // of a size known at compile time
  std::vector<llvm::GlobalVariable*> dynamic_variables;  // all at `bytes`
  std::uint64_t bytes = 0;                               // of the former, rounded up
};

SharedLayout lay_out(llvm::Module& module, std::uint64_t gap) {
  SharedLayout layout;
  layout.bytes = gap;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration()) {
      layout.dynamic_variables.push_back(&variable);  // nothing else in a kernel's text is defined elsewhere
      continue;
    }
    if (variable.isConstant() || !llvm::isa<llvm::UndefValue>(variable.getInitializer())) continue;
    const std::uint64_t size = module.getDataLayout().getTypeAllocSize(variable.getValueType());
    const std::uint64_t alignment = std::max<std::uint64_t>(variable.getAlign().valueOrOne().value(), least_alignment);
    const std::uint64_t offset = llvm::alignTo(layout.bytes, alignment);
    layout.variables.push_back({&variable, offset, size});
    layout.bytes = offset + size + gap;
  }
  layout.bytes = llvm::alignTo(layout.bytes, 128);  // so that the dynamic part may ask for any usual alignment
  return layout;
}

// Hands out, per function, the address of the block's arena.
class ArenaBase {
 public:
  explicit ArenaBase(llvm::Module& module) {
    llvm::LLVMContext& context = module.getContext();
    auto attributes =
        llvm::AttributeList()
            .addFnAttribute(context, llvm::Attribute::getWithMemoryEffects(context, llvm::MemoryEffects::none()))
            .addFnAttribute(context, llvm::Attribute::NoUnwind)
            .addFnAttribute(context, llvm::Attribute::WillReturn);
    function_ = module.getOrInsertFunction(
        "croton_simulator_shared_base", llvm::FunctionType::get(llvm::PointerType::get(context, 0), false), attributes);
  }

  llvm::Value* in(llvm::Function& function) {
    llvm::Value*& base = bases_[&function];
    if (base == nullptr) {
      llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
      base = builder.CreateCall(function_);
    }
    return base;
  }

 private:
  llvm::FunctionCallee function_;
  llvm::DenseMap<llvm::Function*, llvm::Value*> bases_;
};

void replace_by_arena(llvm::GlobalVariable& variable, std::uint64_t offset, ArenaBase& arena) {
  llvm::convertUsersOfConstantsToInstructions({&variable});
  llvm::DenseMap<llvm::Function*, llvm::Value*> addresses;
  for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    if (instruction == nullptr) continue;
    llvm::Function& function = *instruction->getFunction();
    llvm::Value*& address = addresses[&function];
    if (address == nullptr) {
      auto* base = llvm::cast<llvm::Instruction>(arena.in(function));
      llvm::IRBuilder<> builder(base->getNextNode());
      address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
    }
    use.set(address);
  }
}

// Clang calls every function of device code convergent, which keeps loops from asking once who they are. Only waits
// must stay in place.
void allow_moving_queries(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.doesNotAccessMemory()) continue;
    function.setNotConvergent();
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setNotConvergent();
    }
  }
}

// ---- Checks

// Whether each object that the pointer may point into is a local of this thread or a variable of the module.
bool needs_no_check(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects);
  return llvm::all_of(objects, [](const llvm::Value* object) {
    const auto* argument = llvm::dyn_cast<llvm::Argument>(object);
    return llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object) ||
           (argument != nullptr && argument->hasByValAttr());
  });
}

class Instrumenter {
 public:
  explicit Instrumenter(llvm::Module& module) : layout_(module.getDataLayout()) {
    llvm::LLVMContext& context = module.getContext();
    auto* nothing = llvm::Type::getVoidTy(context);
    auto* pointer = llvm::PointerType::get(context, 0);
    auto* word = llvm::Type::getInt32Ty(context);
    access_ = module.getOrInsertFunction("croton_simulator_access", nothing, pointer, llvm::Type::getInt64Ty(context),
                                         word, word);
    at_ = module.getOrInsertFunction("croton_simulator_at", nothing, word);
  }

  void run(llvm::Function& function) {
    llvm::SmallVector<llvm::Instruction*, 64> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions) visit(*instruction);
  }

 private:
  void visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      check(instruction, load->getPointerOperand(), load->getType(), load->getAlign(), load->isAtomic() ? atomic : 0u);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      check(instruction, store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(),
            writes | (store->isAtomic() ? atomic : 0u));
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      check(instruction, update->getPointerOperand(), update->getType(), update->getAlign(), writes | atomic);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      check(instruction, exchange->getPointerOperand(), exchange->getNewValOperand()->getType(), exchange->getAlign(),
            writes | atomic);
    } else if (auto* move = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(move)) {
        check_block(*move, transfer->getRawSource(), transfer->getSourceAlign().valueOrOne(), 0);
      }
      check_block(*move, move->getRawDest(), move->getDestAlign().valueOrOne(), writes);
    } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || !callee->getName().starts_with(wait_prefix)) return;
      llvm::IRBuilder<> builder(call);
      builder.CreateCall(at_, {line_of(*call, builder)});
    }
  }

  void check(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Type* type, llvm::Align alignment,
             std::uint32_t kind) {
    llvm::IRBuilder<> builder(&instruction);
    emit(instruction, pointer, builder.getInt64(layout_.getTypeStoreSize(type).getFixedValue()), alignment, kind);
  }

  void check_block(llvm::MemIntrinsic& move, llvm::Value* pointer, llvm::Align alignment, std::uint32_t kind) {
    llvm::IRBuilder<> builder(&move);
    emit(move, pointer, builder.CreateZExtOrTrunc(move.getLength(), builder.getInt64Ty()), alignment, kind);
  }

  void emit(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Value* size, llvm::Align alignment,
            std::uint32_t kind) {
    if (needs_no_check(pointer)) return;
    llvm::IRBuilder<> builder(&instruction);
    const auto known = static_cast<std::uint32_t>(std::min<std::uint64_t>(alignment.value(), 1u << 20));
    builder.CreateCall(
        access_, {pointer, size, builder.getInt32(kind | known << alignment_shift), line_of(instruction, builder)});
  }

  static llvm::Value* line_of(const llvm::Instruction& instruction, llvm::IRBuilder<>& builder) {
    return builder.getInt32(instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0);
  }

  const llvm::DataLayout& layout_;
  llvm::FunctionCallee access_;
  llvm::FunctionCallee at_;
};

void instrument(llvm::Module& module) {
  Instrumenter instrumenter(module);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.getName().starts_with(entry_prefix)) instrumenter.run(function);
  }
}

// ---- What the simulator is told

bool calls_waits(const llvm::Module& module) {
  return llvm::any_of(module.functions(), [](const llvm::Function& function) {
    return function.getName().starts_with(wait_prefix) && !function.use_empty();
  });
}

void describe(llvm::Module& module, const SharedLayout& layout, bool checked) {
  std::vector<std::uint64_t> numbers = {(calls_waits(module) ? trait_waits : 0ull) | (checked ? trait_checked : 0ull),
                                        layout.bytes, layout.variables.size()};
  std::string names;
  for (const SharedVariable& shared : layout.variables) {
    numbers.insert(numbers.end(), {shared.offset, shared.size});
    names += llvm::demangle(shared.variable->getName().str()) + "\n";
  }
  llvm::LLVMContext& context = module.getContext();
  const auto add = [&](llvm::Constant* value, const char* name) {
    new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, name);
  };
  add(llvm::ConstantDataArray::get(context, llvm::ArrayRef(numbers)), "croton_simulator_program");
  add(llvm::ConstantDataArray::getString(context, names), "croton_simulator_names");
}

// Locals that Clang keeps in memory become values first: what is no access in the end needs no check.
void simplify(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
  passes.run(module, analyses);
}

}  // namespace

void prepare_for_simulator(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, bool checked) {
  if (checked) simplify(module, analyses);

  const SharedLayout layout = lay_out(module, checked ? guard_gap : 0);
  describe(module, layout, checked);
  ArenaBase arena(module);
  for (const SharedVariable& shared : layout.variables) replace_by_arena(*shared.variable, shared.offset, arena);
  for (llvm::GlobalVariable* variable : layout.dynamic_variables) replace_by_arena(*variable, layout.bytes, arena);

  allow_moving_queries(module);
  if (checked) instrument(module);
  llvm::StripDebugInfo(module);
  analyses.clear();  // the code was changed behind its back
}

}  // namespace croton::llvm_part
