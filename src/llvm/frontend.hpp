// Text to LLVM IR with Clang as a library: no driver, no files, no headers, no subprocess.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "croton_api.hpp"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace croton::llvm_part {

/// Parses the request's text to IR that is not optimised yet. Returns nullptr if Clang rejects the text; its errors are
/// then in `messages`.
std::unique_ptr<llvm::Module> parse(const CrotonCompileRequest& request, llvm::LLVMContext& context,
                                    std::string& messages);

/// Whether code for this request prefers 512-bit vectors.
bool prefers_wide_vectors(const CrotonCompileRequest& request);

}  // namespace croton::llvm_part
