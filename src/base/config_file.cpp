#include "base/config_file.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/flag_table.hpp"

namespace croton::base {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_file_bytes = 64 * 1024;
constexpr std::string_view spaces = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

bool starts_with_quote(std::string_view text) { return !text.empty() && (text[0] == '"' || text[0] == '\''); }

/// Removes a quoted value from the front of the text and returns it.
std::string take_quoted(std::string_view& text, const std::string& origin) {
  const std::size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) throw ConfigError(fmt::format("{}: the quote {} has no end", origin, text[0]));
  std::string value(text.substr(1, end - 1));
  text = trimmed(text.substr(end + 1));
  return value;
}

[[noreturn]] void raise_not_an_assignment(std::string_view item, const std::string& origin) {
  throw ConfigError(fmt::format("{}: \"{}\" is not of the form name=value", origin, shown_text(item)));
}

/// Removes "name =" from the front of the text and returns the name.
std::string take_name(std::string_view& text, std::string_view end_of_item, const std::string& origin) {
  const std::size_t end = text.find_first_of(end_of_item);
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, std::min(equals, end)));
  if (equals >= std::min(end, text.size()) || name.empty())
    raise_not_an_assignment(trimmed(text.substr(0, end)), origin);
  text = trimmed(text.substr(equals + 1));
  return std::string(name);
}

/// The rest of a line, without a comment: '#' at its start or after a space.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = text.find('#'); i != std::string_view::npos; i = text.find('#', i + 1)) {
    if (i == 0 || spaces.find(text[i - 1]) != std::string_view::npos) return trimmed(text.substr(0, i));
  }
  return text;
}

/// Parses a file line by line and keeps the current section.
class FlagFileParser {
 public:
  explicit FlagFileParser(const std::string& file) : file_(file) {}

  void line(std::string_view text) {
    ++number_;
    text = trimmed(text);
    if (text.empty() || text[0] == '#') return;
    if (text[0] == '[') {
      section(without_comment(text));
    } else {
      assignment(text);
    }
  }

  std::vector<FlagAssignment> take() { return std::move(assignments_); }

 private:
  std::string origin() const { return fmt::format("{}:{}", file_, number_); }

  void section(std::string_view text) {
    const std::string_view name = trimmed(text.substr(1, text.find(']') - 1));
    if (text.back() != ']' || name.empty() || text.find(']') + 1 != text.size()) {
      throw ConfigError(fmt::format("{}: \"{}\" is not of the form [section]", origin(), shown_text(text)));
    }
    prefix_ = name == "global" ? "" : std::string(name) + ".";
  }

  void assignment(std::string_view text) {
    const std::string name = take_name(text, "", origin());
    std::string value(without_comment(text));
    if (starts_with_quote(text)) {
      value = take_quoted(text, origin());
      if (!without_comment(text).empty())
        throw ConfigError(fmt::format("{}: \"{}\" after the closing quote", origin(), shown_text(text)));
    }
    assignments_.push_back({prefix_ + name, value, origin()});
  }

  const std::string& file_;
  int number_ = 0;
  std::string prefix_;
  std::vector<FlagAssignment> assignments_;
};

}  // namespace

std::vector<FlagAssignment> parse_flag_list(std::string_view text, const std::string& origin) {
  std::vector<FlagAssignment> assignments;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    if (text[0] == ',') {
      text.remove_prefix(1);
      continue;
    }
    const std::string name = take_name(text, ",", origin);
    if (starts_with_quote(text)) {
      assignments.push_back({name, take_quoted(text, origin), origin});
      if (!text.empty() && text[0] != ',') raise_not_an_assignment(text, origin);
    } else {
      const std::size_t end = std::min(text.find(','), text.size());
      assignments.push_back({name, std::string(trimmed(text.substr(0, end))), origin});
      text.remove_prefix(end);
    }
  }
  return assignments;
}

std::vector<FlagAssignment> parse_flag_file(std::string_view text, const std::string& file) {
  FlagFileParser parser(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.take();
}

std::vector<fs::path> flag_file_places() {
  // Relative paths would depend on the current folder, so they are ignored. environment() returns nothing in
  // secure execution.
  const auto absolute = [](const char* variable) -> std::optional<fs::path> {
    const auto value = environment(variable);
    if (!value || !value->starts_with('/')) return std::nullopt;
    return fs::path(*value);
  };
  const auto home = absolute("HOME");
  auto config = absolute("XDG_CONFIG_HOME");
  if (!config && home) config = *home / ".config";
  std::vector<fs::path> places;
  if (config) places.push_back(*config / "croton" / "crotonrc");
  if (home) places.push_back(*home / ".crotonrc");
  return places;
}

std::vector<FlagAssignment> read_flag_file(const std::vector<fs::path>& places, std::vector<std::string>& warnings) {
  for (const fs::path& place : places) {
    std::optional<std::vector<std::byte>> content;
    try {
      content = read_file(place, most_file_bytes, Trust::owner);
    } catch (const FileError& error) {
      warnings.push_back(fmt::format("flags are not read from this file: {}", error.what()));
      return {};
    }
    if (content)
      return parse_flag_file({reinterpret_cast<const char*>(content->data()), content->size()}, place.string());
  }
  return {};
}

}  // namespace croton::base
