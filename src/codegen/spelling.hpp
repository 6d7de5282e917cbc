// The spelling of dtypes, numbers and the user's names in generated texts.
#pragma once

#include <croton/type.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "expr/op.hpp"

namespace croton::codegen {

/// The type of stored values: "float", "ct::f16".
std::string_view stored_type(DType dtype);
/// The type of values in registers: 16-bit floats are computed in float.
std::string_view value_type(DType dtype);
/// A literal of the dtype's value_type.
std::string number(double value, DType dtype);
std::string number(const expr::Scalar& value);
/// The operand for a hole in an op's text, such as {0}.
std::size_t operand_of_hole(char digit);
/// The user's text for a // comment: printable ASCII, without backslashes, which could join the next line.
std::string sanitized(std::string_view text);

}  // namespace croton::codegen
