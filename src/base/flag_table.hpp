// The rows of flags.def, and the parsing of values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/index.hpp"
#include "base/stage.hpp"

namespace croton::base {

enum class FlagKind { boolean, integer, text, choice, list, path };
enum class ReadAt { build, compile, call };

struct FlagRow {
  FlagKind kind;
  std::string_view name;
  std::string_view default_value;
  std::string_view accepted;
  ReadAt read_at;
  std::string_view doc;
};

inline constexpr std::array<FlagRow, flag_count> flag_rows{{
#define CROTON_FLAG(kind, type, name, default_value, accepted, read_at, doc) \
  {FlagKind::kind, #name, default_value, accepted, ReadAt::read_at, doc},
#include "base/flags.def"
#undef CROTON_FLAG
}};

/// The least number of insertions, deletions and replacements that change one text to the other (Levenshtein 1965).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The index of a flag. ConfigError, which starts with `origin` and names the nearest flag, if no flag has that name.
std::size_t flag_index(std::string_view name, std::string_view origin);

/// The value in its canonical form ("yes" -> "true"). ConfigError, which starts with `origin` and lists the accepted
/// values, for others.
std::string canonical_value(const FlagRow& row, std::string_view value, std::string_view origin);

/// The accepted values in words: "true or false", "0 to 16", "fast_run, fast_compile or none".
std::string accepted_text(const FlagRow& row);
/// The kind, as in FlagInfo::type.
std::string_view type_text(FlagKind kind);
std::string_view read_at_text(ReadAt read_at);

/// The struct of typed values; the texts are canonical.
Flags typed_flags(std::array<std::string, flag_count> texts);

/// Text from outside, as errors show it: shortened, and without control characters.
std::string shown_text(std::string_view text);

/// The parts between separators; no parts for an empty text.
std::vector<std::string_view> split_words(std::string_view text, std::string_view separators);

/// The word of a choice: "none" for `optimizer` and OptimizerMode::none.
template <class Choice>
std::string_view choice_text(std::string_view flag, Choice value) {
  return split_words(flag_rows[flag_index(flag, "")].accepted, "|").at(ordinal(value));
}

}  // namespace croton::base
