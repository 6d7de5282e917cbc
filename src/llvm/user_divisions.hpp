// Integer divisions in texts of users (KernelOp).
#pragma once

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Gives divisions of integers the results that Croton's own have (docs/use/numerics.md) where C++ leaves them
/// undefined and the processor would end the process: x / 0 and x % 0 are 0, the smallest number by -1 is itself, with
/// remainder 0.
void guard_divisions(llvm::Module& module);

}  // namespace croton::llvm_part
