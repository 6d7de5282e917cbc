// Rules are made for real numbers, and many that hold for these do not hold for complex ones: sqrt(x) sqrt(y) is not
// sqrt(x y). So where complex numbers stand, only the rules of a list are tried.
#pragma once

#include <span>
#include <string_view>

namespace croton::rewrite {

/// The names of the rules that hold for complex numbers too.
std::span<const std::string_view> complex_rules();
bool holds_for_complex(std::string_view rule);

}  // namespace croton::rewrite
