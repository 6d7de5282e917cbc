// Shared code of the examples for reading options and formatting lines of text.
#pragma once

#include <croton/error.hpp>

#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace command_line {

/// Formats like printf, to a text of at most 511 characters; attributes make compilers check the arguments.
__attribute__((format(printf, 1, 2))) inline std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

/// Parses a number. ValueError if it is not a number or is out of range.
template <class T>
T number(const std::string& option, const std::string& value, T low, T high) {
  T result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc{} && end == value.data() + value.size() && result >= low && result <= high) return result;
  throw croton::ValueError(text("%s takes %.10g to %.10g, not '%.40s'", option.c_str(), static_cast<double>(low),
                                static_cast<double>(high), value.c_str()));
}

}  // namespace command_line
