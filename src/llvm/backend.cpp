#include "backend.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <stdexcept>

#include "host_target.hpp"
#include "simulator_passes.hpp"
#include "user_divisions.hpp"

namespace croton::llvm_part {
namespace {

llvm::PipelineTuningOptions tuning(bool vectorise) {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = vectorise;
  options.SLPVectorization = vectorise;
  options.LoopInterleaving = vectorise;
  options.LoopUnrolling = vectorise;
  return options;
}

/// Large functions stay functions where code is not optimised. To inline all of them is most of the time of such a
/// compilation: a special function has hundreds of operations at each use. The texts ask for it, since loops that call
/// functions are not vectorised.
void keep_large_functions(llvm::Module& module) {
  constexpr unsigned large = 32;  // instructions
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(llvm::Attribute::AlwaysInline) || function.getInstructionCount() < large) continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, const CrotonCompileRequest& request) {
  const bool for_cpu = is_for_cpu(request.mode);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning(for_cpu));

  // Registered before the builder's own analysis, which assumes that every libm function exists.
  llvm::TargetLibraryInfoImpl libraries(llvm::Triple(module.getTargetTriple()));
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(libraries); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  if (request.guards_divisions != 0) guard_divisions(module);
  if (for_cpu && request.level == 0) keep_large_functions(module);
  if (!for_cpu) prepare_for_simulator(module, modules, request.mode == croton_mode_simulator_checked);
  const llvm::OptimizationLevel levels[] = {llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
                                            llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  builder.buildPerModuleDefaultPipeline(levels[for_cpu ? request.level : std::min(request.level, 1)])
      .run(module, modules);
}

}  // namespace

std::string generate(llvm::Module& module, const CrotonCompileRequest& request) {
  const auto machine = make_target_machine(!is_for_cpu(request.mode));
  module.setDataLayout(machine->createDataLayout());
  if (request.level == 0) machine->setOptLevel(llvm::CodeGenOptLevel::None);
  optimise(module, *machine, request);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const auto kind = request.output == croton_output_assembly ? llvm::CodeGenFileType::AssemblyFile
                                                             : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, kind)) {
    throw std::runtime_error("LLVM cannot write this kind of file for " + module.getTargetTriple());
  }
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace croton::llvm_part
