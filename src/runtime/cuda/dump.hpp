// The flag dump_kernels: kernels as files, so that a compiler can be given every kernel that a program has made, and a
// kernel be tried by itself.
#pragma once

#include <span>
#include <string>

#include "runtime/launch.hpp"

namespace croton::runtime::cuda {

/// Writes what the flag dump_forms asks for of each text of a launch, unless this process has done so or dump_kernels
/// is empty: NAME.cu, what NVRTC gets; NAME_main.cu, a program around it, with the sizes of this launch; NAME.ptx and
/// NAME.cubin for `architecture`, where there is NVRTC. A failure is one warning; calls never fail by it.
/// The same of a text that is not a kernel's: there is no NAME_main.cu.
void dump(const codegen::Text& text, const std::string& architecture = "sm_90") noexcept;
void dump(std::span<const BoundKernel> kernels, const std::string& architecture = "sm_90") noexcept;

}  // namespace croton::runtime::cuda
