// Names of operations of the user.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace croton::ops {

/// Whether it is an identifier of C++: letters, digits and _, no digit in front.
inline bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)); });
}

}  // namespace croton::ops
