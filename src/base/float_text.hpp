// Decimal text of floating-point numbers, as NumPy writes them: the fewest digits that read back as the number, limited
// to a precision.
#pragma once

#include <croton/type.hpp>

#include <string>
#include <vector>

namespace croton::base {

/// The text of each number, all of one width, as elements of one printed array. The values are numbers of `dtype` (a
/// float dtype). `plus` writes the sign of positive numbers too.
std::vector<std::string> aligned_float_texts(const std::vector<double>& values, DType dtype, bool plus = false);

/// The text of a single number: "0.1", "1e+20", "nan".
std::string scalar_float_text(double value, DType dtype);

/// The shortest text that reads back as the number: the digits of scalar_float_text without a trailing ".0".
std::string short_float_text(double value, DType dtype);

}  // namespace croton::base
