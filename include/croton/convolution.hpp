// Convolutions and pooling, in one to three dimensions (and more). Two layouts: images of (batch, channels, sizes...)
// with filters of (results, channels / groups, window...), which is Theano's and PyTorch's; and images of (batch,
// sizes..., channels) with filters of (window..., channels / groups, results), which is Keras's. Dtypes are promoted;
// float16 and bfloat16 are added up in float32. Gradients of any order flow to both sides.
#pragma once

#include <croton/ops.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace croton::nnet {

/// How far windows reach over the edges, where zeros are read (in pooling: nothing).
struct Border {
  enum class Rule {
    valid,   ///< not at all
    full,    ///< as far as they touch the image: window - 1 on both sides
    half,    ///< window / 2 on both sides: with odd windows and strides of 1 the result has the image's sizes
    same,    ///< TensorFlow's: ceil(n / stride) windows, what does not divide by 2 is added behind
    causal,  ///< window - 1 in front, nothing behind: no result depends on what comes later
    widths,  ///< {before, after} for each axis
  };
  Rule rule = Rule::valid;
  std::vector<std::pair<Operand, Operand>> widths = {};

  /// "valid", "full", "half", "same" or "causal" (ValueError).
  Border(const char* name) : Border(std::string_view(name)) {}
  Border(std::string_view name);
  /// The same on both sides of all axes.
  Border(int width, Where where = std::source_location::current()) : Border(Operand(width, where)) {}
  Border(const Variable& width, Where where = std::source_location::current()) : Border(Operand(width, where)) {}
  Border(Operand width);
  /// The same on both sides of each axis.
  Border(std::initializer_list<Operand> both_sides) : Border(std::vector<Operand>(both_sides)) {}
  Border(const std::vector<Operand>& both_sides);
  /// {before, after} of each axis.
  Border(std::initializer_list<std::pair<Operand, Operand>> sides) : rule(Rule::widths), widths(sides) {}
  Border(std::vector<std::pair<Operand, Operand>> sides) : rule(Rule::widths), widths(std::move(sides)) {}
};

enum class Layout {
  channels_first,  ///< (batch, channels, sizes...), filters (results, channels / groups, window...)
  channels_last,   ///< (batch, sizes..., channels), filters (window..., channels / groups, results)
};

struct ConvOptions {
  Border border = "valid";
  std::vector<std::int64_t> strides = {};    ///< from window to window, of each axis or one for all; 1 if empty
  std::vector<std::int64_t> dilations = {};  ///< from element to element of a window; 1 if empty
  std::int64_t groups = 1;  ///< channels are divided into so many groups, each with its share of the filters
  bool flip = true;  ///< the window is turned round, as mathematics does; false: cross-correlation, as Keras does
  Layout layout = Layout::channels_first;
};

/// result[b, o, i] = sum over c, k of x[b, c, stride i + dilation k - before] filters[o, c, flip ? window - 1 - k : k],
/// x being 0 outside. One group of channels after another. ShapeError where a window is larger than the image with its
/// borders, where channels do not fit, or do not divide into groups; ValueError for strides or dilations below 1.
Variable conv(Operand x, Operand filters, const ConvOptions& options = {});
/// The same for images of 1, 2 or 3 dimensions; TypeError for others.
Variable conv1d(Operand x, Operand filters, const ConvOptions& options = {});
Variable conv2d(Operand x, Operand filters, const ConvOptions& options = {});
Variable conv3d(Operand x, Operand filters, const ConvOptions& options = {});

/// The gradient of the sum of g * conv(x, filters, options) by x, for g the first argument here: filters are those of
/// that convolution, whose results are the channels here. `sizes`: of x, one for each axis; if empty the smallest that
/// the convolution takes to g (with border `same`: stride times g's).
Variable conv_transpose(Operand g, Operand filters, const ConvOptions& options = {},
                        const std::vector<Operand>& sizes = {});
/// The gradient of the same sum by the filters, which have these window sizes.
Variable conv_filter_gradient(Operand x, Operand g, const std::vector<Operand>& window,
                              const ConvOptions& options = {});

enum class PoolMode {
  max,              ///< the largest; nan if there is one
  sum,              ///< borders count as 0
  average_inc_pad,  ///< the mean of the window, borders counting as elements that are 0
  average_exc_pad,  ///< the mean of those elements of the window that lie in the image
};

/// What the gradient of a maximum does where several elements are largest.
enum class Ties {
  all,    ///< each gets the whole of it, as in Theano
  first,  ///< the first in row-major order gets it, as in Keras and PyTorch
};

struct PoolOptions {
  std::vector<std::int64_t> strides = {};  ///< from window to window; the window's sizes if empty
  Border border = "valid";
  PoolMode mode = PoolMode::max;
  bool ignore_border = true;  ///< false: a last window that reaches over the end counts, with what lies in the image
  Layout layout = Layout::channels_first;
  Ties ties = Ties::all;
};

/// The maxima, sums or means of windows of these sizes over the last axes (channels_last: those in front of the last).
/// Any number of axes may be in front. ShapeError where a window is larger than the image with its borders; ValueError
/// for sizes or strides below 1, and for borders where ignore_border is false.
Variable pool(Operand x, const std::vector<std::int64_t>& window, const PoolOptions& options = {});

}  // namespace croton::nnet
