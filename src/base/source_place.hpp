// The notation of a line of the user's program in messages, printouts and generated text.
#pragma once

#include <croton/where.hpp>

#include <string>
#include <string_view>

namespace croton::base {

/// "train.cpp:12", without the folder, which helps a reader little and would make the text differ between machines.
/// Always one line, because Python allows any name of a file. "line unknown" of a Where that is not known.
inline std::string file_and_line(Where where) {
  if (!where.known()) return "line unknown";
  const std::string_view file = where.file();
  std::string text(file.substr(file.find_last_of('/') + 1));
  for (char& c : text) {
    if ((c >= 0 && c < ' ') || c == 127) c = '?';
  }
  return text + ":" + std::to_string(where.line());
}

}  // namespace croton::base
