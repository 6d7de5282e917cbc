// Adding text to an error on its way to the user, such as the place where it happened.
#pragma once

#include <string_view>

namespace croton::base {

/// In a catch clause: raises the current error again, of the same kind, with its text between `prefix` and `suffix`.
/// Errors of other kinds than those of croton/error.hpp (of the user's code, for example) are raised unchanged.
[[noreturn]] void rethrow_with(std::string_view prefix, std::string_view suffix);

}  // namespace croton::base
