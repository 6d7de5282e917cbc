// What kernels for the CUDA simulator need beyond the host's own pipeline: shared variables in an arena of the block,
// and (checked) a call before every access of memory.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Runs before the optimiser.
void prepare_for_simulator(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, bool checked);

}  // namespace croton::llvm_part
