// Layers for images: convolutions, pooling, padding, cropping and upsampling. Images are (sizes..., channels) unless
// `layout` says otherwise, convolutions are cross-correlations.
#pragma once

#include <croton/convolution.hpp>
#include <croton/nn/layer.hpp>
#include <croton/nnet_layers.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace croton::nn {

using nnet::Interpolation;
using nnet::Layout;

/// One number for all axes, or one for each: `3`, `{3, 5}`. Empty: the default of the layer.
class PerAxis {
 public:
  PerAxis() = default;
  template <std::integral T>
  PerAxis(T for_all) : numbers_{static_cast<std::int64_t>(for_all)} {}
  PerAxis(std::initializer_list<std::int64_t> numbers) : numbers_(numbers) {}
  PerAxis(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
  const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  std::vector<std::int64_t> numbers_;
};

/// Numbers of elements before and after each axis: `1` on both sides of all axes, `{1, 2}` on both sides of each axis,
/// `{{0, 1}, {2, 2}}` {before, after} for each axis. For a single axis `{1, 2}` also means 1 before, 2 after.
class Margins {
 public:
  using Pair = std::pair<std::int64_t, std::int64_t>;
  template <std::integral T>
  Margins(T everywhere) : both_sides_{static_cast<std::int64_t>(everywhere)} {}
  Margins(std::initializer_list<std::int64_t> both_sides) : both_sides_(both_sides) {}
  Margins(std::initializer_list<Pair> sides) : sides_(sides) {}
  /// One of the two lists is empty.
  const std::vector<std::int64_t>& both_sides() const { return both_sides_; }
  const std::vector<Pair>& sides() const { return sides_; }

 private:
  std::vector<std::int64_t> both_sides_;
  std::vector<Pair> sides_;
};

inline constexpr Layout default_layout = Layout::channels_last;
inline constexpr std::int64_t default_depth_multiplier = 1;
inline constexpr std::int64_t default_pool_window = 2;
inline constexpr std::int64_t default_margin = 1;  ///< of padding and cropping
inline constexpr std::int64_t default_upsampling = 2;
inline constexpr Interpolation default_interpolation = Interpolation::nearest;

struct ConvLayerOptions {
  PerAxis strides = 1, dilations = 1;
  std::string padding = "valid";  ///< "valid", "same"; "causal" for one axis, not transposed
  std::int64_t groups = 1;
  Layout layout = default_layout;
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  OptionalShape input_shape = {};
  std::string name = {};
};
/// A convolution layer: activation(cross-correlation with the kernel + bias). The kernel is (window..., channels /
/// groups, filters) in both layouts, as in Keras.
struct Conv1D : Layer {
  Conv1D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
         Where where = std::source_location::current());
};
struct Conv2D : Layer {
  Conv2D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
         Where where = std::source_location::current());
};
struct Conv3D : Layer {
  Conv3D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
         Where where = std::source_location::current());
};
/// The transposed convolution: sizes grow by the strides. The kernel is (window..., filters, channels).
struct Conv1DTranspose : Layer {
  Conv1DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
                  Where where = std::source_location::current());
};
struct Conv2DTranspose : Layer {
  Conv2DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
                  Where where = std::source_location::current());
};
struct Conv3DTranspose : Layer {
  Conv3DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options = {},
                  Where where = std::source_location::current());
};
/// A depthwise convolution, with `multiplier` filters for each channel: the kernel is (window..., channels,
/// multiplier), the result has channels times multiplier channels.
struct DepthwiseConv1D : Layer {
  DepthwiseConv1D(const PerAxis& window, std::int64_t multiplier = default_depth_multiplier,
                  const ConvLayerOptions& options = {}, Where where = std::source_location::current());
};
struct DepthwiseConv2D : Layer {
  DepthwiseConv2D(const PerAxis& window, std::int64_t multiplier = default_depth_multiplier,
                  const ConvLayerOptions& options = {}, Where where = std::source_location::current());
};
/// A depthwise convolution, then a pointwise convolution that mixes its channels: the kernels are (window..., channels,
/// multiplier) and (1..., channels times multiplier, filters). The initializer and regularizer of the kernel apply to
/// both.
struct SeparableConv1D : Layer {
  SeparableConv1D(std::int64_t filters, const PerAxis& window, std::int64_t multiplier = default_depth_multiplier,
                  const ConvLayerOptions& options = {}, Where where = std::source_location::current());
};
struct SeparableConv2D : Layer {
  SeparableConv2D(std::int64_t filters, const PerAxis& window, std::int64_t multiplier = default_depth_multiplier,
                  const ConvLayerOptions& options = {}, Where where = std::source_location::current());
};

struct PoolLayerOptions {
  PerAxis strides = {};           ///< the window's sizes if empty
  std::string padding = "valid";  ///< "valid", "same" (elements outside do not count)
  Layout layout = default_layout;
  OptionalShape input_shape = {};
  std::string name = {};
};
/// Maxima of windows. At ties the first maximum gets the gradient.
struct MaxPooling1D : Layer {
  explicit MaxPooling1D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                        Where where = std::source_location::current());
};
struct MaxPooling2D : Layer {
  explicit MaxPooling2D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                        Where where = std::source_location::current());
};
struct MaxPooling3D : Layer {
  explicit MaxPooling3D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                        Where where = std::source_location::current());
};
struct AveragePooling1D : Layer {
  explicit AveragePooling1D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                            Where where = std::source_location::current());
};
struct AveragePooling2D : Layer {
  explicit AveragePooling2D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                            Where where = std::source_location::current());
};
struct AveragePooling3D : Layer {
  explicit AveragePooling3D(const PerAxis& window = default_pool_window, const PoolLayerOptions& options = {},
                            Where where = std::source_location::current());
};
/// The maximum over all positions: (sizes..., channels) becomes (channels), for any number of spatial axes. At ties the
/// first maximum gets the gradient.
struct GlobalMaxPooling : Layer {
  explicit GlobalMaxPooling(Layout layout = default_layout, const std::string& name = {},
                            const std::string& type = "GlobalMaxPooling", int axes = 0,
                            Where where = std::source_location::current());
};
struct GlobalAveragePooling : Layer {
  explicit GlobalAveragePooling(Layout layout = default_layout, const std::string& name = {},
                                const std::string& type = "GlobalAveragePooling", int axes = 0,
                                Where where = std::source_location::current());
};
/// The same for images of 1, 2 or 3 axes (ShapeError for others), under Keras's names.
struct GlobalMaxPooling1D : GlobalMaxPooling {
  explicit GlobalMaxPooling1D(Layout layout = default_layout, const std::string& name = {},
                              Where where = std::source_location::current())
      : GlobalMaxPooling(layout, name, "GlobalMaxPooling1D", 1, where) {}
};
struct GlobalMaxPooling2D : GlobalMaxPooling {
  explicit GlobalMaxPooling2D(Layout layout = default_layout, const std::string& name = {},
                              Where where = std::source_location::current())
      : GlobalMaxPooling(layout, name, "GlobalMaxPooling2D", 2, where) {}
};
struct GlobalMaxPooling3D : GlobalMaxPooling {
  explicit GlobalMaxPooling3D(Layout layout = default_layout, const std::string& name = {},
                              Where where = std::source_location::current())
      : GlobalMaxPooling(layout, name, "GlobalMaxPooling3D", 3, where) {}
};
struct GlobalAveragePooling1D : GlobalAveragePooling {
  explicit GlobalAveragePooling1D(Layout layout = default_layout, const std::string& name = {},
                                  Where where = std::source_location::current())
      : GlobalAveragePooling(layout, name, "GlobalAveragePooling1D", 1, where) {}
};
struct GlobalAveragePooling2D : GlobalAveragePooling {
  explicit GlobalAveragePooling2D(Layout layout = default_layout, const std::string& name = {},
                                  Where where = std::source_location::current())
      : GlobalAveragePooling(layout, name, "GlobalAveragePooling2D", 2, where) {}
};
struct GlobalAveragePooling3D : GlobalAveragePooling {
  explicit GlobalAveragePooling3D(Layout layout = default_layout, const std::string& name = {},
                                  Where where = std::source_location::current())
      : GlobalAveragePooling(layout, name, "GlobalAveragePooling3D", 3, where) {}
};

/// Adds zeros around images.
struct ZeroPadding1D : Layer {
  explicit ZeroPadding1D(const Margins& widths = default_margin, Layout layout = default_layout,
                         const std::string& name = {}, Where where = std::source_location::current());
};
struct ZeroPadding2D : Layer {
  explicit ZeroPadding2D(const Margins& widths = default_margin, Layout layout = default_layout,
                         const std::string& name = {}, Where where = std::source_location::current());
};
struct ZeroPadding3D : Layer {
  explicit ZeroPadding3D(const Margins& widths = default_margin, Layout layout = default_layout,
                         const std::string& name = {}, Where where = std::source_location::current());
};
/// Removes elements at the edges of images; ShapeError if no elements would be left.
struct Cropping1D : Layer {
  explicit Cropping1D(const Margins& widths = default_margin, Layout layout = default_layout,
                      const std::string& name = {}, Where where = std::source_location::current());
};
struct Cropping2D : Layer {
  explicit Cropping2D(const Margins& widths = default_margin, Layout layout = default_layout,
                      const std::string& name = {}, Where where = std::source_location::current());
};
struct Cropping3D : Layer {
  explicit Cropping3D(const Margins& widths = default_margin, Layout layout = default_layout,
                      const std::string& name = {}, Where where = std::source_location::current());
};
/// Enlarges images: by repeating each element, or by interpolation between the centres of two elements (linear).
struct UpSampling1D : Layer {
  explicit UpSampling1D(const PerAxis& factors = default_upsampling,
                        Interpolation interpolation = default_interpolation, Layout layout = default_layout,
                        const std::string& name = {}, Where where = std::source_location::current());
};
struct UpSampling2D : Layer {
  explicit UpSampling2D(const PerAxis& factors = default_upsampling,
                        Interpolation interpolation = default_interpolation, Layout layout = default_layout,
                        const std::string& name = {}, Where where = std::source_location::current());
};
struct UpSampling3D : Layer {
  explicit UpSampling3D(const PerAxis& factors = default_upsampling,
                        Interpolation interpolation = default_interpolation, Layout layout = default_layout,
                        const std::string& name = {}, Where where = std::source_location::current());
};

}  // namespace croton::nn
