// Names from files, for messages.
#pragma once

#include <string>

#include "io/json_text.hpp"

namespace croton::io {

/// The name as a message shows it: shortened, and without control characters.
inline std::string shown(const std::string& name) {
  constexpr std::size_t most = 100;
  return json_text(name.substr(0, most));
}

}  // namespace croton::io
