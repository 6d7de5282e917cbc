// Lists, pairs and choices as arguments.
#pragma once

#include <croton/error.hpp>
#include <croton/variable.hpp>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "operands.hpp"

namespace croton::python {

/// Whether the object is a list or a tuple.
bool is_list(nb::handle object);
/// Pairs of variables from a dict, a list of pairs, or None. `what` is named in errors.
std::vector<std::pair<Variable, Variable>> to_pairs(nb::handle object, const char* what);

/// The value that a text names; ValueError that lists them.
template <class T>
T choice(const std::string& text, const char* option, std::initializer_list<std::pair<const char*, T>> values) {
  std::string accepted;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    accepted += (accepted.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  throw ValueError(std::string(option) + " is one of " + accepted + ", not '" + text + "'");
}

}  // namespace croton::python
