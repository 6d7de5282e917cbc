// A convolution as libraries get it, on the host and on a GPU: sums of products of what is under windows and filters.
// The same description holds for a convolution, for its gradient by the image (spreads), and for its gradient by the
// filters (dilations, with images in the place of channels): a library tells by the numbers which of its routines it
// is.
#pragma once

#include <croton/type.hpp>

#include <array>
#include <cstdint>

namespace croton::runtime {

/// result[b, g, o, w...] = sum over c and t... of x[b, g, c, at...] filters[g, o, c, t...], where along each axis
/// at = (stride w + dilation t - before) / spread, and what is no whole number or lies outside of x counts as 0.
/// All `_step`s are elements in memory from one index to the next; batch, groups, channels and results have one, and so
/// has each axis.
struct Convolution {
  struct Axis {
    std::int64_t size = 1, windows = 1, taps = 1;  // of x, of the result, of the filters
    std::int64_t stride = 1, dilation = 1, spread = 1, before = 0;
    std::int64_t x_step = 0, filter_step = 0, result_step = 0;
    bool operator==(const Axis&) const = default;
  };
  DType dtype = DType::float32;
  std::int64_t batch = 1, groups = 1, channels = 1, results = 1;
  int axes = 1;  // of the three below that count
  std::array<Axis, 3> axis;
  std::int64_t x_batch_step = 0, x_group_step = 0, x_channel_step = 0;
  std::int64_t filter_group_step = 0, filter_result_step = 0, filter_channel_step = 0;
  std::int64_t result_batch_step = 0, result_group_step = 0, result_result_step = 0;
  bool operator==(const Convolution&) const = default;
};

/// Where its arrays begin.
struct ConvolutionArrays {
  const void* x = nullptr;
  const void* filters = nullptr;
  void* result = nullptr;
};

/// A convolution that a device has made ready: a routine for it is chosen, and what that works in is there.
class ReadyConvolution {
 public:
  virtual ~ReadyConvolution() = default;
  /// Arrays that are there, and of which none overlaps the result.
  virtual void run(const ConvolutionArrays& arrays) const = 0;
};

}  // namespace croton::runtime
