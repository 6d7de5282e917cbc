// CUDA text to machine code by NVRTC, through the kernel cache on disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace croton::runtime::cuda {

/// The form of compiled text. cubin and ptx have a table of lines if the flag `lineinfo` asks for one, lined_cubin
/// always has one; facts are those of facts.hpp, as text.
enum class Form { cubin, ptx, lined_cubin, facts };

/// The code of one kernel for an architecture ("sm_90"). `digest` identifies the text without its comments; `unit` is
/// the whole text; `name` is the kernel's, for the file in tables of lines. `from_cache` (may be null) gets whether the
/// cache had it. DeviceError if NVRTC cannot be found or does not know the architecture.
std::vector<std::byte> compile(std::string_view unit, std::string_view digest, std::string_view prelude,
                               const std::string& architecture, Form form, std::string_view name = "kernel",
                               bool* from_cache = nullptr);

}  // namespace croton::runtime::cuda
