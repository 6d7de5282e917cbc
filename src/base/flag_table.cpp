#include "base/flag_table.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <type_traits>

#include "base/characters.hpp"
#include "base/environment.hpp"
#include "base/index.hpp"

namespace croton::base {
namespace {

std::string_view nearest_flag(std::string_view name) {
  // A file may have a name of any length; a name longer than this is not a typing error.
  name = name.substr(0, 64);
  const auto nearest = std::min_element(flag_rows.begin(), flag_rows.end(), [name](const FlagRow& a, const FlagRow& b) {
    return edit_distance(name, a.name) < edit_distance(name, b.name);
  });
  return nearest->name;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

bool is_one_of(std::string_view word, std::string_view words) {
  const auto all = split_words(words, "|");
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::optional<std::string> canonical_boolean(std::string_view value) {
  const std::string word = lower_case(value);
  if (is_one_of(word, "true|1|yes|on")) return "true";
  if (is_one_of(word, "false|0|no|off")) return "false";
  return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The limits of a range such as "0..16".
std::pair<std::int64_t, std::int64_t> range_of(const FlagRow& row) {
  const std::size_t dots = row.accepted.find("..");
  return {parse_integer(row.accepted.substr(0, dots)).value(), parse_integer(row.accepted.substr(dots + 2)).value()};
}

std::optional<std::string> canonical_integer(const FlagRow& row, std::string_view value) {
  const auto number = parse_integer(value);
  const auto [low, high] = range_of(row);
  if (!number || *number < low || *number > high) return std::nullopt;
  return std::to_string(*number);
}

std::optional<std::string> canonical_list(const FlagRow& row, std::string_view value) {
  const auto words = split_words(value, "+,");
  for (const std::string_view word : words) {
    if (!is_one_of(word, row.accepted)) return std::nullopt;
  }
  return fmt::format("{}", fmt::join(words, "+"));
}

/// An absolute path: a library or folder must not depend on the folder in which the program was started.
std::optional<std::string> canonical_path(const FlagRow& row, std::string_view value) {
  if (value == row.default_value || is_one_of(value, row.accepted) || value.starts_with('/')) return std::string(value);
  if (!value.starts_with("~/")) return std::nullopt;
  const auto home = environment("HOME");
  if (!home || !home->starts_with('/')) return std::nullopt;
  return *home + std::string(value.substr(1));
}

std::optional<std::string> canonical(const FlagRow& row, std::string_view value) {
  switch (row.kind) {
    case FlagKind::boolean:
      return canonical_boolean(value);
    case FlagKind::integer:
      return canonical_integer(row, value);
    case FlagKind::text:
      return std::string(value);
    case FlagKind::choice:
      return is_one_of(value, row.accepted) ? std::optional(std::string(value)) : std::nullopt;
    case FlagKind::list:
      return canonical_list(row, value);
    case FlagKind::path:
      break;
  }
  return canonical_path(row, value);
}

/// "a, b or c"
std::string alternatives(std::string_view words) {
  const auto all = split_words(words, "|");
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " or " : ", ";
    text += all[i];
  }
  return text;
}

template <class T>
void set_typed(T& member, const std::string& text, const FlagRow& row) {
  if constexpr (std::is_same_v<T, bool>) {
    member = text == "true";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    member = parse_integer(text).value();
  } else if constexpr (std::is_same_v<T, DType>) {
    member = dtype_from_name(text);
  } else if constexpr (std::is_enum_v<T>) {
    const auto choices = split_words(row.accepted, "|");
    member = static_cast<T>(std::find(choices.begin(), choices.end(), text) - choices.begin());
  } else {
    member = text;
  }
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t most = 80;
  std::string result;
  for (const char c : text.substr(0, most)) {
    const bool control = code_of(c) < 0x20 || c == 0x7F;
    result += control ? fmt::format("\\x{:02x}", code_of(c)) : std::string(1, c);
  }
  return text.size() > most ? result + "..." : result;
}

std::vector<std::string_view> split_words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::size_t flag_index(std::string_view name, std::string_view origin) {
  const auto row =
      std::find_if(flag_rows.begin(), flag_rows.end(), [name](const FlagRow& r) { return r.name == name; });
  if (row != flag_rows.end()) return to_size(row - flag_rows.begin());
  throw ConfigError(
      fmt::format("{}: there is no flag \"{}\"; the nearest is \"{}\"", origin, shown_text(name), nearest_flag(name)));
}

std::string canonical_value(const FlagRow& row, std::string_view value, std::string_view origin) {
  const bool has_nul = value.find('\0') != std::string_view::npos;
  const auto result = has_nul ? std::nullopt : canonical(row, value);
  if (result) return *result;
  throw ConfigError(fmt::format("{}: the flag {} does not take \"{}\"; accepted: {}", origin, row.name,
                                shown_text(value), accepted_text(row)));
}

std::string accepted_text(const FlagRow& row) {
  switch (row.kind) {
    case FlagKind::boolean:
      return "true or false";
    case FlagKind::integer:
      return fmt::format("{} to {}", range_of(row).first, range_of(row).second);
    case FlagKind::text:
      return "any text";
    case FlagKind::choice:
      return alternatives(row.accepted);
    case FlagKind::list:
      return fmt::format("any of {}, joined by +", alternatives(row.accepted));
    case FlagKind::path:
      break;
  }
  if (row.accepted.empty()) return "an absolute path";
  return fmt::format("{} or an absolute path", fmt::join(split_words(row.accepted, "|"), ", "));
}

std::string_view type_text(FlagKind kind) {
  switch (kind) {
    case FlagKind::boolean:
      return "bool";
    case FlagKind::integer:
      return "int";
    case FlagKind::text:
      return "string";
    case FlagKind::choice:
      return "choice";
    case FlagKind::list:
      return "list";
    case FlagKind::path:
      break;
  }
  return "path";
}

std::string_view read_at_text(ReadAt read_at) {
  if (read_at == ReadAt::build) return "build";
  return read_at == ReadAt::compile ? "compile" : "call";
}

Flags typed_flags(std::array<std::string, flag_count> texts) {
  Flags flags;
  std::size_t index = 0;
#define CROTON_FLAG(kind, type, name, ...)               \
  set_typed(flags.name, texts[index], flag_rows[index]); \
  ++index;
#include "base/flags.def"
#undef CROTON_FLAG
  flags.texts = std::move(texts);
  return flags;
}

}  // namespace croton::base
