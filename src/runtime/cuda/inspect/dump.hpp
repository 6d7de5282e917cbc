// The flag dump_kernels: kernels as files, so that a compiler can be given every kernel that a program has made, and a
// kernel be tried by itself.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "codegen/emit.hpp"
#include "codegen/standalone.hpp"

namespace croton::runtime::cuda {

/// Writes what the flag dump_forms asks for of a text, unless this process has done so or dump_kernels is empty:
/// NAME.cu, what NVRTC gets; NAME_main.cu, a program that launches its kernels (`parts`; none: there is no such file);
/// NAME.ptx and NAME.cubin for `architecture`, where there is NVRTC. A failure is one warning; calls never fail by it.
void dump(const codegen::Text& text, const std::string& architecture = "sm_90",
          std::span<const codegen::StandalonePart> parts = {}) noexcept;
/// Runs it, and takes a failure for a warning.
void attempt_dump(const std::function<void()>& work) noexcept;

}  // namespace croton::runtime::cuda
