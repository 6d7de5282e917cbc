// How a line of the user's program is written in messages, printouts and generated text.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace croton::base {

/// "train.cpp:12".
inline std::string file_and_line(std::source_location where) {
  std::string_view file = where.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  return std::string(file) + ":" + std::to_string(where.line());
}

}  // namespace croton::base
