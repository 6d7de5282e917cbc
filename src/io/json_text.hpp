// Text as a string of JSON, for files and messages.
#pragma once

#include <string>

namespace croton::io {

/// The text in quotes, with special characters escaped; bytes that are not UTF-8 become the replacement character.
std::string json_text(const std::string& text);

}  // namespace croton::io
