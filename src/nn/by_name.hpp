// Lookup by name: initializers, activations, regularizers, optimizers.
#pragma once

#include <croton/error.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/characters.hpp"

namespace croton::nn {

template <class T>
using Named = std::pair<std::string_view, T>;

/// Whether two spellings of Keras are the same name: "MeanSquaredError" is "mean_squared_error", "Adam" is "adam".
inline bool same_spelled(std::string_view a, std::string_view b) {
  const auto at_letter = [](std::string_view& text) {
    while (text.starts_with('_')) text.remove_prefix(1);
    return text.empty() ? '\0' : base::lower(text.front());
  };
  for (;;) {
    const char letter = at_letter(a);
    if (letter != at_letter(b)) return false;
    if (letter == '\0') return true;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
}

/// The value of a name. ValueError with all names of this kind: "unknown optimizer \"adm\"; known are sgd, adam".
template <class T, class Same = std::equal_to<>>
const T& by_name(std::span<const Named<T>> table, std::string_view name, const std::string& kind, Same same = {}) {
  std::string known;
  for (const auto& [key, value] : table) {
    if (same(key, name)) return value;
    known += (known.empty() ? "" : ", ") + std::string(key);
  }
  throw ValueError("unknown " + kind + " \"" + std::string(name) + "\"; known are " + known);
}

}  // namespace croton::nn
