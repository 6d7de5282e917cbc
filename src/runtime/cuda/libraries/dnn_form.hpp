// A convolution in cuDNN's terms. The library knows images, filters and answers,
//   answer[n, k, p...] = sum over c and r... of image[n, c, h...] filter[k, c, r...]   with h = stride p + dilation r -
//   pad,
// and has a routine for each of the three as the result. So any of our three arrays may stand in any of these places:
// what decides is where the relation between their indices fits, which place has the small extents of filters, and how
// the arrays lie in memory. It takes the three in one order of axes (channels first or last, all without gaps) and pads
// both ends of an axis alike; an array that lies otherwise, or is padded otherwise, is copied.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/device/convolution.hpp"

namespace croton::runtime::cuda::dnn {

enum class Routine : std::uint8_t { forward, backward_data, backward_filter };
enum class Source : std::uint8_t { x, filters, result };

inline constexpr int most_dims = 5;
using Numbers = std::array<int, most_dims>;

/// An array in one of the library's places. Its axes are images (filters: results), channels of all groups, and two or
/// three more.
struct Operand {
  Source source = Source::x;
  Numbers sizes{}, steps{};  // as the library is told
  std::int64_t offset = 0;   // elements of the array in front of what takes part
  // What the library is told of is a copy, without gaps, of a part of the array, or comes to it from there:
  bool copied = false;
  Numbers part{}, array_steps{};  // of that in the array
  std::int64_t inset = 0;         // elements of the copy in front of it
  bool padded = false;            // the copy has more than the part: zeros, or what is dropped
  std::int64_t copied_elements() const;
};

struct Form {
  Routine routine = Routine::forward;
  int dims = 4;  // of each operand
  int groups = 1;
  bool channels_last = false;
  bool flipped = false;                    // taps are met in reverse order
  Numbers pads{}, strides{}, dilations{};  // of dims - 2 axes
  Operand image, filter, answer;
};

/// The ways to ask for it, the best first; they differ in the order of axes and in what is copied. None where the
/// library has no such convolution, where a size is 0 (a sum without terms, or nothing to do), where numbers do not fit
/// its 32 bits, and where elements have no memory of their own (steps of 0) or run backwards.
std::vector<Form> forms_of(const Convolution& convolution);

}  // namespace croton::runtime::cuda::dnn
