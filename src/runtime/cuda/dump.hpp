// The flag dump_kernels: kernels as files, so that other compilers can compile every kernel of a program, and one can
// try a kernel by itself.
#pragma once

#include <string>

#include "runtime/device/backend.hpp"

namespace croton::runtime::cuda {

/// Writes the forms of CUDA texts in the flag dump_forms, unless this process has done so: NAME.cu, the text for NVRTC;
/// NAME_main.cu, a program that launches its kernels (only if there are `parts`); NAME.ptx and NAME.cubin for
/// `architecture`, if there is NVRTC. A failure is one warning; calls never fail by it.
void dump(const DumpedTexts& texts, const std::string& architecture) noexcept;

}  // namespace croton::runtime::cuda
