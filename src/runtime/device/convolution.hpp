// A convolution as libraries get it, on the host and on a GPU: sums of products of the elements under windows and the
// filters. One description serves a convolution, its gradient by the image (spreads) and its gradient by the filters
// (dilations, with images as channels): the numbers tell a library which of its routines to use.
#pragma once

#include <croton/type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace croton::runtime {

///   result[b, g, o, w...] = sum over c and t... of x[b, g, c, at...] filters[g, o, c, t...]
///
/// with at = (stride w + dilation t - before) / spread along each axis. x counts as 0 at positions outside of it, and
/// at those that are not whole numbers. A `_step` is the number of elements in memory from one index to the next;
/// batch, groups, channels and results have one, and so has each axis.
struct Convolution {
  struct Axis {
    std::int64_t size = 1, windows = 1, taps = 1;  // of x, of the result, of the filters
    std::int64_t stride = 1, dilation = 1, spread = 1, before = 0;
    std::int64_t x_step = 0, filter_step = 0, result_step = 0;
    bool operator==(const Axis&) const = default;
  };
  DType dtype = DType::float32;
  std::int64_t batch = 1, groups = 1, channels = 1, results = 1;
  std::size_t axes = 1;  // in use, of the three below
  std::array<Axis, 3> axis;
  std::int64_t x_batch_step = 0, x_group_step = 0, x_channel_step = 0;
  std::int64_t filter_group_step = 0, filter_result_step = 0, filter_channel_step = 0;
  std::int64_t result_batch_step = 0, result_group_step = 0, result_result_step = 0;
  bool operator==(const Convolution&) const = default;

  std::span<Axis> used_axes() { return std::span(axis).first(axes); }
  std::span<const Axis> used_axes() const { return std::span(axis).first(axes); }
};

/// Where its arrays begin.
struct ConvolutionArrays {
  const void* x = nullptr;
  const void* filters = nullptr;
  void* result = nullptr;
};

/// A convolution that a device has made ready: a routine is chosen, and its workspace is allocated.
class ReadyConvolution {
 public:
  virtual ~ReadyConvolution() = default;
  /// The arrays exist, and none overlaps the result.
  virtual void run(const ConvolutionArrays& arrays) const = 0;
};

}  // namespace croton::runtime
