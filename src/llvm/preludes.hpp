// Precompiled preludes. Texts of kernels begin with one long prelude, which Clang parses in 50 ms, as long as the rest
// of a small kernel takes. From the second text of a process on it is precompiled in memory, like a header: the first
// text is not slower.
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

/// Lets the compilation of `text`, the invocation's only file, begin after its first `size` bytes if these were parsed
/// before with the same arguments; else changes nothing. `text` must outlive the compilation. Any number of threads may
/// call this.
void use_prelude(clang::CompilerInvocation& invocation, const std::vector<std::string>& arguments,
                 llvm::MemoryBuffer& text, std::size_t size, llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files);

}  // namespace croton::llvm_part
