#include <croton/error.hpp>

#include <fmt/format.h>

#include <string_view>

namespace croton {
namespace {

// The folder of the build tells a reader nothing, and would make the text differ between machines.
std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

InternalError::InternalError(const std::string& message, std::source_location where)
    : std::logic_error(fmt::format("{}\nThis is a bug in Croton at {}:{}; please report it.", message,
                                   base_name(where.file_name()), where.line())) {}

}  // namespace croton
