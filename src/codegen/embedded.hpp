// The files of codegen_templates/, put into the library when it is built (cmake/embed.cmake), so that no file has to be
// found at run time and none can be put in its place.
#pragma once

#include <span>
#include <string_view>

namespace croton::codegen {

struct EmbeddedFile {
  std::string_view path;  ///< relative to codegen_templates/, with '/': "common/math.cuh"
  std::string_view text;
};

/// All of them, sorted by path.
std::span<const EmbeddedFile> embedded_files();
/// The text of one; InternalError where there is none of that path.
std::string_view embedded_file(std::string_view path);

}  // namespace croton::codegen
