// nvdisasm, NVIDIA's disassembler: a program of the toolkit and of PyPI, searched where the libraries of CUDA are and
// on PATH. One that every user of the machine could have put there is never run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime::cuda {

struct ProgramSearch {
  std::filesystem::path path;           ///< of nvdisasm; empty where there is none
  std::vector<std::string> candidates;  ///< every place searched, with what was found there
};

/// Searches under the present cuda_root.
ProgramSearch find_nvdisasm();

/// Whether disassemble() can work; if not, `why` (may be null) receives what was searched and the package that has it.
bool can_disassemble(std::string* why = nullptr);

/// What nvdisasm prints for a cubin: the code of all functions, with places in the source if `lines`. DeviceError where
/// there is no nvdisasm, or where it does not know the cubin's architecture.
std::string disassemble(std::span<const std::byte> cubin, bool lines);

}  // namespace croton::runtime::cuda
