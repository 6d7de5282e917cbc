// The part of a text for the simulator that its user wrote: before it are definitions of CUDA's words, after it the
// calls of the kernels.
#pragma once

#include <clang/Basic/SourceManager.h>

#include <cstddef>

namespace croton::llvm_part {

struct UsersText {
  std::size_t begin = 0;
  std::size_t size = 0;  // 0: all is Croton's own

  /// Whether a location of the file is in the user's part.
  bool holds(const clang::SourceManager& sources, clang::SourceLocation where) const {
    const auto [file, offset] = sources.getDecomposedLoc(where);
    return file == sources.getMainFileID() && offset >= begin && offset - begin < size;
  }

  /// Whether a token is spelled in the user's part, or pasted by a macro that is used there.
  bool wrote(const clang::SourceManager& sources, clang::SourceLocation where) const {
    if (size == 0 || where.isInvalid()) return false;
    const clang::SourceLocation spelled = sources.getSpellingLoc(where);
    const bool is_pasted = sources.getFileID(spelled) != sources.getMainFileID();
    return holds(sources, is_pasted ? sources.getExpansionLoc(where) : spelled);
  }
};

}  // namespace croton::llvm_part
