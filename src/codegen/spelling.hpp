// How dtypes, numbers and the user's words are spelled in generated texts.
#pragma once

#include <croton/type.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "expr/op.hpp"

namespace croton::codegen {

/// A dtype as it is stored: "float", "ct::f16".
std::string_view stored_type(DType dtype);
/// As it is in registers: 16-bit floats are computed in float.
std::string_view value_type(DType dtype);
/// A literal of the dtype's value_type.
std::string number(double value, DType dtype);
std::string number(const expr::Scalar& value);
/// The operand that a hole in an op's text, such as {0}, is for.
std::size_t operand_of_hole(char digit);
/// Text of the user inside a // comment: printable ASCII, no backslash that could join the next line.
std::string harmless(std::string_view text);

}  // namespace croton::codegen
