// Compiled CPU kernels of this process: found by digest, taken from the disk cache, or compiled. All missing kernels of
// a request are compiled as a few modules, at most one a thread, since a module costs milliseconds however small it is.
#pragma once

#include "codegen/emit.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace croton::runtime::cpu {

/// The entries of one kernel, and the owner of their code; only split kernels have `finish`.
struct KernelEntry {
  void (*run)(const void* parameters, std::int64_t begin, std::int64_t end) = nullptr;
  void (*finish)(const void* parameters) = nullptr;
  std::shared_ptr<const void> code;
};

struct KernelCounts {
  std::uint64_t compiled = 0;  // by this request
  std::uint64_t cached = 0;    // taken from disk
};

/// Whether kernels can be compiled here: the LLVM part is installed.
bool can_compile(std::string* why = nullptr);
/// The entries of the kernels, in order. Thread-safe. Code without entries is unloaded, except for the most recent
/// code.
std::vector<KernelEntry> get_kernels(std::span<const codegen::Text> texts, KernelCounts& counts);

}  // namespace croton::runtime::cpu
