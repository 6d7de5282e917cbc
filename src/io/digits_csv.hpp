// The text of data/digits.csv, put into the library when it is built (cmake/embed_data.cmake). One image a line: 64
// pixels of 0 to 16, then the digit, with commas between.
#pragma once

#include <string_view>

namespace croton::io {

std::string_view digits_csv();

}  // namespace croton::io
