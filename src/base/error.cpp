#include <croton/error.hpp>

#include <fmt/format.h>

#include "base/source_place.hpp"

namespace croton {

InternalError::InternalError(const std::string& message, Where where)
    : std::logic_error(
          fmt::format("{}\nThis is a bug in Croton at {}; please report it.", message, base::file_and_line(where))) {}

}  // namespace croton
