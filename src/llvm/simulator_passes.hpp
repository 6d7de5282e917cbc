// What kernels for the CUDA simulator need beyond the host's own pipeline: shared variables in an arena of the block,
// and (checked) a call before every access of memory.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Of the variables without a definition those that are the launch's dynamic shared memory; of `checked` modules only.
inline constexpr const char* dynamic_shared_attribute = "croton-dynamic-shared";

/// Runs before the optimiser. std::runtime_error, with the line, where a checked module is refused.
void prepare_for_simulator(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, bool checked);

}  // namespace croton::llvm_part
