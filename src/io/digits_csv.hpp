// The text of data/digits.csv, embedded in the library when it is built (cmake/embed_data.cmake). One image per line:
// 64 pixels from 0 to 16, then the digit, separated by commas.
#pragma once

#include <string_view>

namespace croton::io {

std::string_view digits_csv();

}  // namespace croton::io
