// The files of codegen_templates/, embedded in the library when it is built (cmake/embed.cmake). The library therefore
// reads no template files at run time, and nobody can replace them.
#pragma once

#include <span>
#include <string_view>

namespace croton::codegen {

struct EmbeddedFile {
  std::string_view path;  ///< relative to codegen_templates/, with '/': "common/math.cuh"
  std::string_view text;
};

/// All embedded files, sorted by path.
std::span<const EmbeddedFile> embedded_files();
/// The text of the file with that path; InternalError if there is none.
std::string_view embedded_file(std::string_view path);

}  // namespace croton::codegen
