// The flag dump_kernels: CUDA text in files, so that a compiler can be given every kernel that a program has made.
#pragma once

#include "codegen/emit.hpp"

namespace croton::runtime::cuda {

/// Writes the whole unit (the real device's prelude and the text) to KERNEL.cu of the folder, unless this process has
/// done so or the flag is empty. A failure is one warning; calls never fail by it.
void dump(const codegen::Text& text) noexcept;

/// Whether the flag asks for texts: they need not be made otherwise.
bool dumps();

}  // namespace croton::runtime::cuda
