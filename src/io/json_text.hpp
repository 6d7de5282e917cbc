// Text as a string of JSON, for files and messages.
#pragma once

#include <string>

namespace croton::io {

/// In quotes, with what may not stand there escaped; bytes that are no UTF-8 become the replacement character.
std::string json_text(const std::string& text);

}  // namespace croton::io
