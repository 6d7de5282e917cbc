// An error on its way to the user, told where it happened.
#pragma once

#include <string_view>

namespace croton::base {

/// In a catch clause: raises the error that is being handled again, of the same kind, with its text between `before`
/// and `behind`. What is not of a kind of croton/error.hpp (an error of the user's own, say) stays as it is.
[[noreturn]] void rethrow_with(std::string_view before, std::string_view behind);

}  // namespace croton::base
