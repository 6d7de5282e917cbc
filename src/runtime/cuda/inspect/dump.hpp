// The flag dump_kernels: kernels as files, so that other compilers can compile every kernel of a program, and one can
// try a kernel by itself.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "codegen/emit.hpp"
#include "codegen/standalone.hpp"

namespace croton::runtime::cuda {

/// Writes the forms of a text in the flag dump_forms, unless this process has done so or dump_kernels is empty:
/// NAME.cu, the text for NVRTC; NAME_main.cu, a program that launches its kernels (only if there are `parts`); NAME.ptx
/// and NAME.cubin for `architecture`, if there is NVRTC. A failure is one warning; calls never fail by it.
void dump(const codegen::Text& text, const std::string& architecture = "sm_90",
          std::span<const codegen::StandalonePart> parts = {}) noexcept;
/// Runs it; a failure becomes a warning.
void attempt_dump(const std::function<void()>& work) noexcept;

}  // namespace croton::runtime::cuda
