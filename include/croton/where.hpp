// Where: a line of the user's program.
#pragma once

#include <source_location>
#include <string_view>

namespace croton {

/// A file and a line. `Where where = std::source_location::current()` as the last argument of a function is the line of
/// its caller; a binding for another language makes it from that language's information about callers.
class Where {
 public:
  /// An unknown line.
  constexpr Where() = default;
  constexpr Where(std::source_location place) : file_(place.file_name()), line_(place.line()) {}
  /// Only the pointer is stored: the text must live as long as the process. Lines count from 1; 0 is unknown.
  constexpr Where(const char* file, unsigned line) : file_(file), line_(line) {}

  constexpr bool known() const { return line_ != 0; }
  constexpr const char* file() const { return file_; }
  constexpr unsigned line() const { return line_; }

  /// Compares the text: two translation units have the name of one file at different addresses.
  friend constexpr bool operator==(const Where& a, const Where& b) {
    return a.line_ == b.line_ && std::string_view(a.file_) == b.file_;
  }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
};

}  // namespace croton
