// LLVM passes for the CUDA simulator: they move shared variables into an arena of the block and, in checked mode, add a
// call before every access of memory.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Marks the undefined variables that are the launch's dynamic shared memory; in `checked` modules only.
inline constexpr const char* dynamic_shared_attribute = "croton-dynamic-shared";

/// Runs before the optimiser. Throws std::runtime_error, with the line, if a checked module is rejected.
void prepare_for_simulator(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, bool checked);

}  // namespace croton::llvm_part
