// Things that text names: initializers, activations, optimizers.
#pragma once

#include <croton/error.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace croton::nn {

template <class T>
using Named = std::pair<std::string_view, T>;

/// ValueError with all names, `kind` being what they name: "unknown optimizer \"adm\"; known are sgd, adam".
template <class T>
const T& by_name(std::span<const Named<T>> table, std::string_view name, const std::string& kind) {
  std::string known;
  for (const auto& [key, value] : table) {
    if (key == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(key);
  }
  throw ValueError("unknown " + kind + " \"" + std::string(name) + "\"; known are " + known);
}

}  // namespace croton::nn
