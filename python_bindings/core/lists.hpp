// Lists, pairs and choices as arguments.
#pragma once

#include <croton/convolution.hpp>
#include <croton/error.hpp>
#include <croton/variable.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/bindings.hpp"
#include "core/operands.hpp"

namespace croton::python {

/// Whether the object is a list or a tuple.
bool is_list(nb::handle object);
/// Pairs of variables from a dict, a list of pairs, or None. `what` is the argument's name in errors.
std::vector<std::pair<Variable, Variable>> to_pairs(nb::handle object, const char* what);
/// An operand that may be None.
std::optional<Operand> to_optional_operand(nb::handle object);
/// One or several whole numbers; `what` is the argument's name in errors.
std::vector<std::int64_t> to_numbers(nb::handle object, const char* what);
/// 'channels_first' or 'channels_last'; ValueError for others.
nnet::Layout to_layout(const std::string& text);

/// The value with this name; a ValueError lists all names.
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
