// A convolution in cuDNN's terms. The library knows images, filters and outputs,
//   output[n, k, p...] = sum over c and r... of image[n, c, h...] filter[k, c, r...]
// with h = stride p + dilation r - pad, and has a routine for each of the three as the result. So any of our three
// arrays may take any of these places. The choice depends on the relation between their indices, on the place with the
// small extents of filters, and on the layout of the arrays. The library takes the three in one order of axes (channels
// first or last, all without gaps) and pads both ends of an axis equally; an array with another layout or padding is
// copied.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/device/convolution.hpp"

namespace croton::runtime::cuda::dnn {

enum class Routine : std::uint8_t { forward, backward_data, backward_filter };
enum class Source : std::uint8_t { x, filters, result };

inline constexpr int max_dims = 5;
using Numbers = std::array<int, max_dims>;

/// An array in one of the library's places. Its axes are images (of filters: results), channels of all groups, and two
/// or three more.
struct Operand {
  Source source = Source::x;
  Numbers sizes{}, steps{};  // for the library
  std::int64_t offset = 0;   // elements of the array before the part that takes part
  // If it is true, the library gets a copy without gaps, from or to a part of the array:
  bool copied = false;
  Numbers part{}, array_steps{};  // of the part in the array
  std::int64_t inset = 0;         // elements of the copy before the part
  bool padded = false;            // the copy has more than the part: zeros, or elements that are dropped
  std::int64_t copied_elements() const;
};

struct Form {
  Routine routine = Routine::forward;
  int dims = 4;  // of each operand
  int groups = 1;
  bool channels_last = false;
  bool flipped = false;                    // taps are in reverse order
  Numbers pads{}, strides{}, dilations{};  // of dims - 2 axes
  Operand image, filter, output;
};

/// The forms in which the library can compute it, the best first; they differ in the order of axes and in the arrays
/// that are copied. There is none if the library has no such convolution, if a size is 0 (a sum without terms, or
/// nothing to do), if numbers do not fit its 32 bits, and if elements share memory (steps of 0) or are in reverse
/// order.
std::vector<Form> forms_of(const Convolution& convolution);

}  // namespace croton::runtime::cuda::dnn
