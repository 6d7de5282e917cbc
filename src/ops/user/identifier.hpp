// Names of the user's operations.
#pragma once

#include "base/characters.hpp"

#include <algorithm>
#include <string_view>

namespace croton::ops {

/// Whether the text is an identifier of C++: letters, digits and _, without a first digit.
inline bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return base::is_letter(c) || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || base::is_digit(c); });
}

}  // namespace croton::ops
