// The rules that hold for complex numbers. Rules are written for real numbers, and many of them are wrong for complex
// ones: sqrt(x) sqrt(y) is not sqrt(x y). So only the rules of this list are tried on complex nodes.
#pragma once

#include <span>
#include <string_view>

namespace croton::rewrite {

/// The names of the rules that hold for complex numbers too.
std::span<const std::string_view> complex_rules();
bool holds_for_complex(std::string_view rule);

}  // namespace croton::rewrite
