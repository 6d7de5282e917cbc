// How it is done:
//  - A shared variable (Clang leaves those without a value, and no others) becomes `croton_simulator_shared_base() +
//  offset`, so that each block in flight has its own. The
//    optimiser could turn a kernel's only use of a scalar into a local otherwise, since Clang says that kernels do not
//    recurse.
//  - Accesses of memory are reported before they happen (simulator_instrument.hpp).
//  - `croton_simulator_program` tells the simulator what it needs to know: {traits, shared bytes, number of shared
//    variables, number of device variables, how many of these are constants (the last ones), then offset and size of
//    each of the former, size of each of the latter}, `croton_simulator_names` their names, a line each,
//    `croton_simulator_variables` the addresses of device variables.
//  - `croton_simulator_bounds_NAME` is what __launch_bounds__ of kernel NAME allow (0: nothing was said). The device
//    header writes it as an annotation, since Clang knows launch bounds only for GPUs.
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
constexpr std::uint64_t least_alignment = 16;
// Around shared variables of checked programs: a wrong index meets nobody's bytes.
constexpr std::uint64_t guard_gap = 64;

// What a program does.
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
  std::vector<llvm::GlobalVariable*> dynamic_variables;  // all at `bytes`
  std::uint64_t bytes = 0;                               // of the former, rounded up
  std::vector<DeviceVariable> device_variables;          // of the whole program
  std::vector<DeviceVariable> constants;  // of the whole program: tables, literals, tables of virtual functions
};

// Not memory that a kernel may reach, but what the compiler and the simulator note about the text.
bool is_note(const llvm::GlobalVariable& variable) {
  const llvm::StringRef name = variable.getName();
  return name.starts_with("llvm.") || name.starts_with(own_prefix) || variable.getSection() == "llvm.metadata";
}

// The variable with a gap at either side, so that what runs over its ends meets no other one.
llvm::Constant* with_gaps(llvm::Module& module, llvm::GlobalVariable& variable, std::uint64_t gap) {
  const llvm::Align alignment = variable.getAlign().valueOrOne();
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::Type* before = llvm::ArrayType::get(byte, llvm::alignTo(gap, alignment));
  llvm::Type* behind = llvm::ArrayType::get(byte, gap);
  llvm::Constant* whole = llvm::ConstantStruct::getAnon(
      {llvm::Constant::getNullValue(before), variable.getInitializer(), llvm::Constant::getNullValue(behind)},
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
    if (is_note(variable) || size == 0) continue;
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

// ---- What the simulator is told

bool calls_waits(const llvm::Module& module) {
  return llvm::any_of(module.functions(), [](const llvm::Function& function) {
    return function.getName().starts_with(wait_prefix) && !function.use_empty();
  });
}

// Whether a thread may wait for another one's write: by a lock, or by a read that is repeated.
bool may_spin(const llvm::Module& module) {
  const auto asks = [](const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic();
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return !update->use_empty();
    return llvm::isa<llvm::AtomicCmpXchgInst>(instruction);
  };
  return llvm::any_of(module.functions(),
                      [&](const llvm::Function& function) { return llvm::any_of(llvm::instructions(function), asks); });
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

// Entries call their kernel, and what the device header does around it is inlined by now.
void describe_bounds(llvm::Module& module, const Bounds& bounds) {
  std::vector<std::pair<std::string, std::uint32_t>> found;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().starts_with(entry_prefix)) continue;
    std::uint32_t most = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->getCalledFunction() != nullptr) most = bounds.lookup(call->getCalledFunction());
    }
    found.emplace_back(function.getName().substr(entry_prefix.size()).str(), most);
  }
  for (const auto& [kernel, most] : found)
    add_constant(module, llvm::ConstantInt::get(llvm::Type::getInt32Ty(module.getContext()), most),
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
    // References to locals become the locals; what is no access of memory in the end needs no check.
    run_on_functions(module, analyses, llvm::PromotePass());
    describe_bounds(module, bounds);
  }

  if (checked) Instrumenter::refuse_foreign(module, own_prefix);
  const SharedLayout layout = lay_out(module, checked ? guard_gap : 0);
  describe(module, layout, checked);
  ArenaBase arena(module);
  for (const SharedVariable& shared : layout.variables) replace_by_arena(*shared.variable, shared.offset, arena);
  for (llvm::GlobalVariable* variable : layout.dynamic_variables) replace_by_arena(*variable, layout.bytes, arena);
  allow_moving_queries(module);
  if (checked) {
    Instrumenter instrumenter(module, own_prefix, wait_prefix);
    instrumenter.check_faults();
    analyses.clear();  // it splits blocks
    // Structs move as a whole before SROA takes them apart, and with them what a kernel reads beyond what it uses.
    instrumenter.check_blocks();
    run_on_functions(module, analyses, llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    instrumenter.check_accesses();
    instrumenter.add_places();
  }
  llvm::StripDebugInfo(module);
  analyses.clear();  // the code was changed behind its back
}

}  // namespace croton::llvm_part
