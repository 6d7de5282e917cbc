// A case as a complete C++ program, for fixing the bug that it shows.
#pragma once

#include "run.hpp"

#include <string>

namespace differential {

/// The program prints the element and its expected value, and returns 1 if they differ.
std::string program_of(const Failure& failure);
/// The text of one call, with these names for its operands.
std::string call_text(const Step& step, const std::vector<std::string>& operands);

}  // namespace differential
