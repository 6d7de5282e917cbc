// The classes of characters for any char: the functions of the C library are not defined for negative ones.
#pragma once

#include <cctype>

namespace croton::base {

/// The code of a character, 0 to 255.
constexpr unsigned char code_of(char c) { return static_cast<unsigned char>(c); }

inline bool is_letter(char c) { return std::isalpha(code_of(c)) != 0; }
inline bool is_digit(char c) { return std::isdigit(code_of(c)) != 0; }
inline bool is_letter_or_digit(char c) { return std::isalnum(code_of(c)) != 0; }
inline bool is_space(char c) { return std::isspace(code_of(c)) != 0; }
inline bool is_upper(char c) { return std::isupper(code_of(c)) != 0; }
inline bool is_lower(char c) { return std::islower(code_of(c)) != 0; }
inline char lower(char c) { return static_cast<char>(std::tolower(code_of(c))); }

}  // namespace croton::base
