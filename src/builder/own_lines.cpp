#include "builder/own_lines.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"

namespace croton::builder {

bool is_own_line(Where where) {
  // Stages see the headers of src/ through links in the build folder (cmake/stages.cmake), and the compiler names a
  // file by the path on which it found it.
  static constexpr std::string_view folders[] = {CROTON_SOURCE_FOLDER "/src/", CROTON_SOURCE_FOLDER "/include/",
                                                 CROTON_SOURCE_FOLDER "/python_bindings/", CROTON_STAGES_FOLDER "/"};
  const std::string_view file = where.file();
  return std::ranges::any_of(folders, [&](std::string_view folder) { return file.starts_with(folder); });
}

void check_line(std::string_view op, Where where) {
  if (!base::config().verify || !is_own_line(where)) return;
  throw InternalError(fmt::format("a node '{}' has a line of Croton, not of the user's program", op), where);
}

}  // namespace croton::builder
