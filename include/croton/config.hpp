// Flags: settings, also from outside the program. A flag has a default, which a file, CROTON_FLAGS, code and a scope
// may change; the later in this order wins. docs/use/flags.md lists them.
//
//   CROTON_FLAGS=device=cuda0,floatX=float64 ./program
//
// The file is $XDG_CONFIG_HOME/croton/crotonrc (~/.config where the variable is unset), else ~/.crotonrc, with lines
// `name = value` and comments after `#`. It must belong to the user and not be writable by everybody, otherwise it is
// ignored with a warning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace croton {

/// The value of a flag for the calling thread, as text in its usual form ("true", "float32"). ConfigError for an
/// unknown name, with the most similar flag; also if the file or CROTON_FLAGS have an error.
std::string flag(std::string_view name);

/// Sets a flag for the process. Threads inside a change_flags scope that names the flag see the new value when the
/// scope ends. ConfigError for an unknown name, or a value that the flag does not accept, with the accepted ones.
void set_flag(std::string_view name, std::string_view value);

/// Changes flags for the calling thread until the end of the scope, also if an exception ends it:
///
///   croton::change_flags second{"device=cuda1,floatX=float16"};
///
/// Scopes nest. Other threads, including Croton's own, do not see them. A value with commas is written in quotes.
/// ConfigError as from set_flag; nothing is changed then.
class change_flags {
 public:
  explicit change_flags(std::string_view settings);
  ~change_flags();
  change_flags(const change_flags&) = delete;
  change_flags& operator=(const change_flags&) = delete;

 private:
  std::uint64_t scope_;
};

/// A flag, its value and its description, as text.
struct FlagInfo {
  std::string name;
  std::string type;    ///< "bool", "int", "string", "choice", "list" or "path"
  std::string value;   ///< for the calling thread
  std::string origin;  ///< source of the value: "default", "FILE:LINE", "CROTON_FLAGS", "set_flag" or "change_flags"
  std::string doc;
  std::string default_value;
  std::string read_at;   ///< "build" (of the graph), "compile" or "call"
  std::string accepted;  ///< the accepted values, in words
};

/// Every flag, in alphabetical order.
std::vector<FlagInfo> flags();

}  // namespace croton
