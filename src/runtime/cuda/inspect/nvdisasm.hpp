// nvdisasm, NVIDIA's disassembler: a program of the toolkit and of PyPI, which program.hpp finds.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace croton::runtime::cuda {

/// Whether disassemble() can work; if not, `why` (may be null) gets the places searched and the package that has it.
/// ConfigError if the flag cuda_nvdisasm names a file that is missing or refused.
bool can_disassemble(std::string* why = nullptr);

/// The output of nvdisasm for a cubin: the code of all functions, with places in the source if `lines`. DeviceError if
/// there is no nvdisasm, or if it does not know the cubin's architecture; ConfigError as above.
std::string disassemble(std::span<const std::byte> cubin, bool lines);

}  // namespace croton::runtime::cuda
