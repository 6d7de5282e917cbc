// Convolutions and pooling, in one to three dimensions (and more). Two layouts: images of (batch, channels, sizes...)
// with filters of (results, channels / groups, window...), which is Theano's and PyTorch's; and images of (batch,
// sizes..., channels) with filters of (window..., channels / groups, results), which is Keras's. Dtypes are promoted;
// float16 and bfloat16 are added up in float32. Both operands have gradients of any order.
#pragma once

#include <croton/ops.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nnet {

/// The padding: how far windows extend beyond the edges, where zeros are read (in pooling: nothing).
struct Border {
  enum class Rule {
    valid,   ///< no padding
    full,    ///< all windows that overlap the image: window - 1 on both sides
    half,    ///< window / 2 on both sides: with odd windows and strides of 1 the result has the sizes of the image
    same,    ///< TensorFlow's: ceil(n / stride) windows; an odd padding has one more element after the image
    causal,  ///< window - 1 before, nothing after: no result depends on later elements
    widths,  ///< {before, after} for each axis
  };
  Rule rule = Rule::valid;
  std::vector<std::pair<Operand, Operand>> widths = {};

  /// "valid", "full", "half", "same" or "causal" (ValueError).
  Border(const char* name) : Border(std::string_view(name)) {}
  Border(std::string_view name);
  /// The same width on both sides of all axes.
  Border(int width, Where where = std::source_location::current()) : Border(Operand(width, where)) {}
  Border(const Variable& width, Where where = std::source_location::current()) : Border(Operand(width, where)) {}
  Border(Operand width);
  /// One width for both sides of each axis.
  Border(std::initializer_list<Operand> both_sides) : Border(std::vector<Operand>(both_sides)) {}
  Border(const std::vector<Operand>& both_sides);
  /// {before, after} for each axis.
  Border(std::initializer_list<std::pair<Operand, Operand>> sides) : rule(Rule::widths), widths(sides) {}
  Border(std::vector<std::pair<Operand, Operand>> sides) : rule(Rule::widths), widths(std::move(sides)) {}
};

enum class Layout {
  channels_first,  ///< (batch, channels, sizes...), filters (results, channels / groups, window...)
  channels_last,   ///< (batch, sizes..., channels), filters (window..., channels / groups, results)
};

struct ConvOptions {
  Border border = "valid";
  std::vector<std::int64_t> strides = {};    ///< between windows, one for each axis or one for all; 1 if empty
  std::vector<std::int64_t> dilations = {};  ///< between elements of a window; 1 if empty
  std::int64_t groups = 1;                   ///< number of groups of channels, each with its own filters
  bool flip = true;  ///< true: convolution with flipped windows; false: cross-correlation, as in Keras
  Layout layout = Layout::channels_first;
};

/// result[b, o, i] = sum over c, k of x[b, c, stride i + dilation k - before] filters[o, c, flip ? window - 1 - k : k],
/// where x is 0 outside the image. Groups of channels are independent. ShapeError if a window is larger than the image
/// with its padding, if channels do not match, or do not divide into groups; ValueError for strides or dilations
/// below 1.
Variable conv(Operand x, Operand filters, const ConvOptions& options = {});
/// conv for images of 1, 2 or 3 dimensions; TypeError for others.
Variable conv1d(Operand x, Operand filters, const ConvOptions& options = {});
Variable conv2d(Operand x, Operand filters, const ConvOptions& options = {});
Variable conv3d(Operand x, Operand filters, const ConvOptions& options = {});

/// The transposed convolution: the gradient of the sum of g * conv(x, filters, options) with respect to x. The channels
/// of g are the results of that convolution, with the same filters. `sizes`: the sizes of x, one for each axis; if
/// empty the smallest for which the convolution has the sizes of g (with border `same`: stride times those of g).
Variable conv_transpose(Operand g, Operand filters, const ConvOptions& options = {},
                        const std::vector<Operand>& sizes = {});
/// The gradient of the same sum with respect to the filters, for the given window sizes.
Variable conv_filter_gradient(Operand x, Operand g, const std::vector<Operand>& window,
                              const ConvOptions& options = {});

enum class PoolMode {
  max,              ///< the largest element; nan if there is one
  sum,              ///< padding counts as 0
  average_inc_pad,  ///< the mean of the window, with padding as elements 0
  average_exc_pad,  ///< the mean of the window's elements inside the image
};

/// The gradient of a maximum if several elements are equal to it.
enum class Ties {
  all,    ///< each gets the whole gradient, as in Theano
  first,  ///< the first in row-major order gets it, as in Keras and PyTorch
};

struct PoolOptions {
  std::vector<std::int64_t> strides = {};  ///< between windows; the window's sizes if empty
  Border border = "valid";
  PoolMode mode = PoolMode::max;
  bool ignore_border = true;  ///< false: a last window beyond the end counts, with its elements inside the image
  Layout layout = Layout::channels_first;
  Ties ties = Ties::all;
};

/// The maxima, sums or means of windows of these sizes over the last axes (channels_last: the axes before the last).
/// Any number of axes may come before them. ShapeError if a window is larger than the image with its padding;
/// ValueError for sizes or strides below 1, and for padding if ignore_border is false.
Variable pool(Operand x, const std::vector<std::int64_t>& window, const PoolOptions& options = {});

}  // namespace croton::nnet
