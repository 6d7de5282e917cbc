// Object files to code that can be called: ORC's object layer with JITLink. Names are resolved in a fixed list (what
// LLVM may emit by itself, and what the caller gives), never in the process: a kernel cannot depend on what happens to
// be loaded.
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

/// Links the object. Throws std::runtime_error with LLVM's reason where the bytes are no object file of this machine,
/// or need a name that is not given.
LoadedModulePointer load(const char* object, std::size_t size, std::span<const CrotonSymbol> symbols);

/// Whether the linker knows it by itself: what the code generator calls without being asked.
bool is_runtime_function(llvm::StringRef name);

/// The address of an exported name, or nullptr.
void* find(const LoadedModule& module, const std::string& name);

}  // namespace croton::llvm_part
