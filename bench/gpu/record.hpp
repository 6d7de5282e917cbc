// One line of JSON: an object of numbers and texts.
#pragma once

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

namespace bench::gpu {

class Record {
 public:
  Record& add(std::string_view name, double value) {
    std::ostringstream text;
    text.precision(10);
    text << value;
    return raw(name, std::isfinite(value) ? text.str() : "null");
  }
  Record& add(std::string_view name, std::string_view value) { return raw(name, quoted(value)); }
  Record& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  Record& raw(std::string_view name, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return *this;
  }
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

}  // namespace bench::gpu
