// The transformation:
//  - A shared variable (Clang leaves only those without a value) becomes `croton_simulator_shared_base() + offset`, so
//    that each block in flight has its own. Otherwise the optimiser could turn a scalar that only one kernel uses into
//    a local, since Clang declares kernels as not recursive.
//  - Accesses of memory are reported before they happen (simulator_instrument.hpp).
//  - `croton_simulator_program` describes the program for the simulator: {traits, shared bytes, number of shared
//    variables, number of device variables, how many of these are constants (the last ones), then offset and size of
//    each shared variable, then the size of each device variable}. `croton_simulator_names` has their names, a line
//    each, and `croton_simulator_variables` the addresses of the device variables.
//  - `croton_simulator_bounds_NAME` is the __launch_bounds__ of kernel NAME, 0 if it has none. The device header writes
//    them as an annotation, since Clang supports launch bounds only for GPUs.
#include "simulator_passes.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/Alignment.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulator_instrument.hpp"

namespace croton::llvm_part {
namespace {

constexpr llvm::StringRef entry_prefix = "croton_simulator_entry_";
constexpr llvm::StringRef own_prefix = "croton_simulator_";
constexpr llvm::StringRef wait_prefix = "croton_simulator_wait_";
constexpr std::uint64_t min_alignment = 16;
// Bytes around shared variables of checked programs: accesses at wrong indices hit no other variable.
constexpr std::uint64_t guard_gap = 64;

// Traits of a program.
constexpr std::uint64_t trait_waits = 1, trait_checked = 2, trait_spins = 4;

// ---- Shared variables

struct SharedVariable {
  llvm::GlobalVariable* variable;
  std::uint64_t offset;
  std::uint64_t size;
};

// A variable that outlives launches, or a constant.
struct DeviceVariable {
  llvm::Constant* address;
  std::uint64_t size;
  std::string name;
};

struct SharedLayout {
  std::vector<SharedVariable> variables;                 // of a size known at compile time
  std::vector<llvm::GlobalVariable*> dynamic_variables;  // all at offset `bytes`
  std::uint64_t bytes = 0;                               // size of `variables`, rounded up
  std::vector<DeviceVariable> device_variables;          // of the whole program
  std::vector<DeviceVariable> constants;  // of the whole program: tables, literals, tables of virtual functions
};

// Whether it is metadata of the compiler or the simulator about the text, which kernels cannot access.
bool is_metadata(const llvm::GlobalVariable& variable) {
  const llvm::StringRef name = variable.getName();
  return name.starts_with("llvm.") || name.starts_with(own_prefix) || variable.getSection() == "llvm.metadata";
}

// The variable with a gap on either side, so that accesses beyond its ends hit no other variable.
llvm::Constant* with_gaps(llvm::Module& module, llvm::GlobalVariable& variable, std::uint64_t gap) {
  const llvm::Align alignment = variable.getAlign().valueOrOne();
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::Type* before = llvm::ArrayType::get(byte, llvm::alignTo(gap, alignment));
  llvm::Type* after = llvm::ArrayType::get(byte, gap);
  llvm::Constant* whole = llvm::ConstantStruct::getAnon(
      {llvm::Constant::getNullValue(before), variable.getInitializer(), llvm::Constant::getNullValue(after)},
      /*Packed=*/true);
  auto* guarded = new llvm::GlobalVariable(module, whole->getType(), false, llvm::GlobalValue::InternalLinkage, whole);
  guarded->setAlignment(alignment);
  llvm::Constant* offset =
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), llvm::alignTo(gap, alignment));
  llvm::Constant* address = llvm::ConstantExpr::getGetElementPtr(byte, guarded, offset);
  variable.replaceAllUsesWith(address);
  return address;
}

SharedLayout lay_out(llvm::Module& module, std::uint64_t gap) {
  SharedLayout layout;
  layout.bytes = gap;
  std::vector<llvm::GlobalVariable*> all;  // before others with gaps are added
  for (llvm::GlobalVariable& variable : module.globals()) all.push_back(&variable);
  for (llvm::GlobalVariable* const one : all) {
    llvm::GlobalVariable& variable = *one;
    if (variable.isDeclaration()) {
      layout.dynamic_variables.push_back(&variable);  // nothing else may be left (simulator_faults.cpp)
      continue;
    }
    const std::uint64_t size = module.getDataLayout().getTypeAllocSize(variable.getValueType());
    if (is_metadata(variable) || size == 0) continue;
    const std::string name = variable.hasPrivateLinkage() ? "in the text" : llvm::demangle(variable.getName().str());
    if (variable.isConstant()) {
      layout.constants.push_back({&variable, size, name});
      continue;
    }
    if (!llvm::isa<llvm::UndefValue>(variable.getInitializer())) {
      llvm::Constant* address = gap > 0 ? with_gaps(module, variable, gap) : &variable;
      layout.device_variables.push_back({address, size, name});
      if (gap > 0) variable.eraseFromParent();
      continue;
    }
    const std::uint64_t alignment = std::max<std::uint64_t>(variable.getAlign().valueOrOne().value(), min_alignment);
    const std::uint64_t offset = llvm::alignTo(layout.bytes, alignment);
    layout.variables.push_back({&variable, offset, size});
    layout.bytes = offset + size + gap;
  }
  layout.bytes = llvm::alignTo(layout.bytes, 128);  // so that the dynamic part may ask for any usual alignment
  return layout;
}

// The address of the block's arena, once per function.
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

// Clang marks every function of device code as convergent, which keeps thread indices from being hoisted out of loops.
// Only waits must stay in place.
void allow_moving_queries(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.doesNotAccessMemory()) continue;
    function.setNotConvergent();
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setNotConvergent();
    }
  }
}

// ---- Description for the simulator

bool calls_waits(const llvm::Module& module) {
  return llvm::any_of(module.functions(), [](const llvm::Function& function) {
    return function.getName().starts_with(wait_prefix) && !function.use_empty();
  });
}

// Whether a thread may wait for another one's write: by a lock, or by a repeated read.
bool may_spin(const llvm::Module& module) {
  const auto may_poll = [](const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic();
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return !update->use_empty();
    return llvm::isa<llvm::AtomicCmpXchgInst>(instruction);
  };
  return llvm::any_of(module.functions(), [&](const llvm::Function& function) {
    return llvm::any_of(llvm::instructions(function), may_poll);
  });
}

void add_constant(llvm::Module& module, llvm::Constant* value, const llvm::Twine& name) {
  new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, name);
}

void describe(llvm::Module& module, const SharedLayout& layout, bool checked) {
  std::vector<std::uint64_t> numbers = {(calls_waits(module) ? trait_waits : 0ull) | (checked ? trait_checked : 0ull) |
                                            (may_spin(module) ? trait_spins : 0ull),
                                        layout.bytes, layout.variables.size(),
                                        layout.device_variables.size() + layout.constants.size(),
                                        layout.constants.size()};
  std::string names;
  for (const SharedVariable& shared : layout.variables) {
    numbers.insert(numbers.end(), {shared.offset, shared.size});
    names += llvm::demangle(shared.variable->getName().str()) + "\n";
  }
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  std::vector<llvm::Constant*> addresses;
  const auto add = [&](const DeviceVariable& variable) {
    numbers.push_back(variable.size);
    names += variable.name + "\n";
    addresses.push_back(variable.address);
  };
  llvm::for_each(layout.device_variables, add);
  llvm::for_each(layout.constants, add);
  addresses.push_back(llvm::ConstantPointerNull::get(pointer));  // never empty, so that it has an address
  llvm::LLVMContext& context = module.getContext();
  add_constant(module, llvm::ConstantDataArray::get(context, llvm::ArrayRef(numbers)), "croton_simulator_program");
  add_constant(module, llvm::ConstantDataArray::getString(context, names), "croton_simulator_names");
  add_constant(module, llvm::ConstantArray::get(llvm::ArrayType::get(pointer, addresses.size()), addresses),
               "croton_simulator_variables");
}

// ---- Launch bounds

using Bounds = llvm::DenseMap<const llvm::Function*, std::uint32_t>;

// The annotation `croton_launch_bounds` of each function that has one, and its first argument.
Bounds launch_bounds(llvm::Module& module) {
  Bounds bounds;
  llvm::GlobalVariable* annotations = module.getNamedGlobal("llvm.global.annotations");
  if (annotations == nullptr) return bounds;
  for (const llvm::Use& use : annotations->getInitializer()->operands()) {
    const auto* entry = llvm::cast<llvm::ConstantStruct>(use.get());
    const auto* function = llvm::dyn_cast<llvm::Function>(entry->getOperand(0)->stripPointerCasts());
    const auto* name = llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
    const auto* arguments = llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(4)->stripPointerCasts());
    if (function == nullptr || name == nullptr || arguments == nullptr) continue;
    const auto* text = llvm::dyn_cast<llvm::ConstantDataSequential>(name->getInitializer());
    if (text == nullptr || !text->isCString() || text->getAsCString() != "croton_launch_bounds") continue;
    const auto* first = llvm::dyn_cast<llvm::ConstantInt>(arguments->getInitializer()->getAggregateElement(0u));
    if (first != nullptr) bounds[function] = static_cast<std::uint32_t>(first->getZExtValue());
  }
  return bounds;
}

// Entries call their kernel; the device header's code around the call is inlined by now.
void describe_bounds(llvm::Module& module, const Bounds& bounds) {
  std::vector<std::pair<std::string, std::uint32_t>> found;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().starts_with(entry_prefix)) continue;
    std::uint32_t max_threads = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->getCalledFunction() != nullptr)
        max_threads = bounds.lookup(call->getCalledFunction());
    }
    found.emplace_back(function.getName().substr(entry_prefix.size()).str(), max_threads);
  }
  for (const auto& [kernel, max_threads] : found)
    add_constant(module, llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), max_threads),
                 "croton_simulator_bounds_" + kernel);
}

template <class Pass>
void run_on_functions(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, Pass pass) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pass)));
  passes.run(module, analyses);
}

}  // namespace

void prepare_for_simulator(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, bool checked) {
  if (checked) {
    const Bounds bounds = launch_bounds(module);
    llvm::ModulePassManager inliner;
    inliner.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
    inliner.run(module, analyses);
    // References to locals become the locals, and locals become registers, which need no check.
    run_on_functions(module, analyses, llvm::PromotePass());
    describe_bounds(module, bounds);
  }

  if (checked) Instrumenter::reject_undefined_symbols(module, own_prefix);
  const SharedLayout layout = lay_out(module, checked ? guard_gap : 0);
  describe(module, layout, checked);
  ArenaBase arena(module);
  for (const SharedVariable& shared : layout.variables) replace_by_arena(*shared.variable, shared.offset, arena);
  for (llvm::GlobalVariable* variable : layout.dynamic_variables) replace_by_arena(*variable, layout.bytes, arena);
  allow_moving_queries(module);
  if (checked) {
    Instrumenter instrumenter(module, own_prefix, wait_prefix);
    instrumenter.check_faults();
    analyses.clear();  // check_faults splits blocks
    // Copies of structs are checked before SROA splits them: then members that the kernel copies but does not use are
    // still part of them.
    instrumenter.check_blocks();
    run_on_functions(module, analyses, llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    instrumenter.check_accesses();
    instrumenter.add_places();
  }
  llvm::StripDebugInfo(module);
  analyses.clear();  // they do not know of these changes
}

}  // namespace croton::llvm_part
