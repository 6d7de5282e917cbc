// Object files to callable code: ORC's object layer with JITLink. Names are resolved in a fixed list (functions that
// LLVM may call by itself, and the caller's symbols), never in the process: a kernel cannot depend on libraries that
// happen to be loaded.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "croton_api.hpp"

namespace croton::llvm_part {

class LoadedModule;
struct Unload {
  void operator()(LoadedModule* module) const;
};
using LoadedModulePointer = std::unique_ptr<LoadedModule, Unload>;

/// Links the object. Throws std::runtime_error with LLVM's reason if the bytes are not an object file of this machine,
/// or refer to a name that is not in `symbols`.
LoadedModulePointer load(const char* object, std::size_t size, std::span<const CrotonSymbol> symbols);

/// Whether the linker defines this name itself, for calls that the code generator inserts.
bool is_runtime_function(llvm::StringRef name);

/// The address of an exported name, or nullptr.
void* find(const LoadedModule& module, const std::string& name);

}  // namespace croton::llvm_part
