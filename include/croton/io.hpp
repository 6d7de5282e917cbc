// Example data inside the library: no file is needed and nothing is downloaded.
#pragma once

#include <croton/array.hpp>

namespace croton::io {

/// Images of digits and their labels, in the same order.
struct Digits {
  Array images;  ///< float32 (n, side * side), 0 (paper) to 1 (ink), each image in row-major order
  Array labels;  ///< int32 (n), 0 to 9
};

/// The 1,797 handwritten digits of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998, UCI
/// Machine Learning Repository, doi 10.24432/C50P49, licence CC BY 4.0), in the order of the file. They are 8 x 8
/// pixels; a larger `side` enlarges them bilinearly: pixel centres are mapped to the original by (i + 1/2) 8 / side -
/// 1/2 and interpolate the four nearest centres; beyond the outermost centres the edge is used. ValueError unless
/// `side` is 8 to 128.
Digits digits(int side = 8);

}  // namespace croton::io
