// Texts of kernels begin with one long prelude, which Clang takes 50 ms to parse, as long as a small kernel takes for
// the rest. It is parsed once and kept in memory, as a precompiled header is, from the second text of a process on: the
// first one is not slower for it.
#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <cstddef>
#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
}
namespace llvm {
class MemoryBuffer;
namespace vfs {
class FileSystem;
}
}  // namespace llvm

namespace croton::llvm_part {

/// Lets the compilation of `text`, the invocation's only file, begin behind its first `size` bytes if they were parsed
/// before with the same arguments; else leaves all as it is. `text` must outlive the compilation. Any number of threads
/// may call this.
void use_prelude(clang::CompilerInvocation& invocation, const std::vector<std::string>& arguments,
                 llvm::MemoryBuffer& text, std::size_t size, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files);

}  // namespace croton::llvm_part
