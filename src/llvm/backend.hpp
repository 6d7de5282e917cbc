// LLVM IR to an object file or assembly: the optimiser's pipeline and the code generator.
#pragma once

#include <string>

#include "croton_api.hpp"

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Optimises the module and returns its object file or assembly text. Throws std::runtime_error if LLVM fails.
std::string generate(llvm::Module& module, const CrotonCompileRequest& request);

}  // namespace croton::llvm_part
