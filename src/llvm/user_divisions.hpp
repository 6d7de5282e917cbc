// Integer divisions in texts of users (KernelOp).
#pragma once

namespace llvm {
class Module;
}

namespace croton::llvm_part {

/// Gives integer divisions that are undefined in C++, where the processor would end the process, the results of
/// Croton's own ops (docs/use/numerics.md): x / 0 and x % 0 are 0; the smallest number divided by -1 is itself, with
/// remainder 0.
void guard_divisions(llvm::Module& module);

}  // namespace croton::llvm_part
