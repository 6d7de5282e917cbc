// Input and output of the programs of this folder: lists of names, and one line of JSON, an object of numbers and
// texts.
#pragma once

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

class Record {
 public:
  Record& add(std::string_view name, double value) {
    std::ostringstream text;
    text.precision(10);
    text << value;
    return add_raw(name, std::isfinite(value) ? text.str() : "null");
  }
  Record& add(std::string_view name, std::string_view value) { return add_raw(name, quoted(value)); }
  Record& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  /// A value that is JSON already.
  Record& add_raw(std::string_view name, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  static std::string quoted(std::string_view value) {
    std::string result = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') result += '\\';
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + "\"";
  }
  std::string text_;
};

/// "a,b" as a list.
inline std::vector<std::string> split(const std::string& list, char separator = ',') {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace bench
