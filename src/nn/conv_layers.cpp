// Convolutions.
#include <croton/convolution.hpp>
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "nn/floats.hpp"
#include "nn/images.hpp"

namespace croton::nn {
namespace {

class ConvDefinition : public ImageLayer {
 public:
  /// `causal`: whether causal padding is accepted.
  ConvDefinition(const std::string& type, int axes, std::int64_t filters, const PerAxis& window,
                 const ConvLayerOptions& options, bool causal)
      : ImageLayer(type, options.name, axes, options.layout),
        filters_(filters),
        window_(each(window, "window sizes")),
        strides_(each(options.strides, "strides")),
        dilations_(each(options.dilations, "dilations")),
        options_(options) {
    if (filters < 1) refuse(fmt::format("{} filters; there is at least 1", filters));
    if (options.groups < 1) refuse(fmt::format("{} groups; there is at least 1", options.groups));
    if (filters % options.groups != 0)
      refuse(fmt::format("{} filters do not divide into {} groups", filters, options.groups));
    check_padding(options.padding, causal);
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Shape& shape = inputs[0];
    check_image(shape);
    const std::int64_t channels = shape[channel_axis()];
    if (channels != any_size && channels % options_.groups != 0)
      fail(fmt::format("{} channels do not divide into {} groups", channels, options_.groups));
    return with_sizes(shape, results(channels), [&](std::size_t j, std::int64_t n) {
      return windows(options_.padding, n, dilations_[j] * (window_[j] - 1) + 1, strides_[j], shape);
    });
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    channels_ = inputs[0][channel_axis()];
    kernel_ = add_weight("kernel", kernel_shape(),
                         {.initializer = options_.kernel_initializer, .regularizer = options_.kernel_regularizer});
    add_bias();
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    Variable y = convolved(in_floats(inputs[0].value));
    if (options_.use_bias) y = y + per_channel(value_of(bias_));
    return {options_.activation(y)};
  }

 protected:
  void check_image(const Shape& shape) const {
    check_rank(shape);
    const std::int64_t channels = shape[channel_axis()];
    if (built() && channels != any_size && channels != channels_)
      fail(fmt::format("takes {} channels, but {}", channels_, to_string(shape)));
  }
  void add_bias() {
    if (options_.use_bias)
      bias_ = add_weight("bias", {results(channels_)},
                         {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  virtual Sizes kernel_shape() const {
    Sizes shape = window_;
    shape.push_back(channels_ == any_size ? any_size : channels_ / options_.groups);
    shape.push_back(filters_);
    return shape;
  }
  virtual std::int64_t results(std::int64_t /*channels*/) const { return filters_; }
  virtual Variable convolved(const Variable& x) const {
    return nnet::conv(x, ordered(value_of(kernel_)), conv_options(options_.groups));
  }
  nnet::ConvOptions conv_options(std::int64_t groups) const {
    return {.border = nnet::Border(options_.padding),
            .strides = strides_,
            .dilations = dilations_,
            .groups = groups,
            .flip = false,
            .layout = layout_};
  }
  /// The kernel, whose window axes come first, in the filter order of the layout.
  Variable ordered(const Variable& kernel) const {
    if (last()) return kernel;
    std::vector<int> order{axes_ + 1, axes_};
    for (int j = 0; j < axes_; ++j) order.push_back(j);
    return transpose(kernel, order);
  }
  /// Convolves each channel with `multiplier` filters of a kernel (window..., channels, multiplier).
  Variable each_channel(const Variable& x, const Variable& kernel, std::int64_t multiplier) const {
    std::vector<Operand> sizes;
    for (const std::int64_t size : window_) sizes.emplace_back(size);
    sizes.emplace_back(1);
    sizes.emplace_back(channels_ * multiplier);
    return nnet::conv(x, ordered(reshape(kernel, sizes)), conv_options(channels_));
  }
  /// A number for each channel, in a shape that broadcasts against images.
  Variable per_channel(const Variable& channels) const { return last() ? channels : shape_padright(channels, axes_); }

  std::int64_t filters_, channels_ = any_size;
  Steps window_, strides_, dilations_;
  ConvLayerOptions options_;
  SharedVariable kernel_, bias_;
};

/// Convolves each channel separately, with several filters each.
class DepthwiseDefinition : public ConvDefinition {
 public:
  DepthwiseDefinition(const std::string& type, int axes, const PerAxis& window, std::int64_t multiplier,
                      const ConvLayerOptions& options)
      : ConvDefinition(type, axes, multiplier, window, options, axes == 1) {
    if (options.groups != 1) refuse("has no groups: each channel is one");
  }

 protected:
  Sizes kernel_shape() const override {
    Sizes shape = window_;
    shape.push_back(channels_);
    shape.push_back(filters_);
    return shape;
  }
  std::int64_t results(std::int64_t channels) const override {
    return channels == any_size ? any_size : channels * filters_;
  }
  Variable convolved(const Variable& x) const override { return each_channel(x, value_of(kernel_), filters_); }
};

/// A depthwise convolution, and then a linear combination of the channels.
class SeparableDefinition : public ConvDefinition {
 public:
  SeparableDefinition(const std::string& type, int axes, std::int64_t filters, const PerAxis& window,
                      std::int64_t multiplier, const ConvLayerOptions& options)
      : ConvDefinition(type, axes, filters, window, options, axes == 1), multiplier_(multiplier) {
    if (options.groups != 1) refuse("has no groups: each channel is one");
    if (multiplier < 1) refuse(fmt::format("a multiplier of {}; it is at least 1", multiplier));
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    channels_ = inputs[0][channel_axis()];
    const WeightOptions of_kernels{.initializer = options_.kernel_initializer,
                                   .regularizer = options_.kernel_regularizer};
    Sizes each = window_, mix(window_.size(), 1);
    each.insert(each.end(), {channels_, multiplier_});
    depthwise_ = add_weight("depthwise_kernel", each, of_kernels);
    mix.insert(mix.end(), {channels_ * multiplier_, filters_});
    pointwise_ = add_weight("pointwise_kernel", mix, of_kernels);
    add_bias();
  }

 protected:
  Variable convolved(const Variable& x) const override {
    return nnet::conv(each_channel(x, value_of(depthwise_), multiplier_), ordered(value_of(pointwise_)),
                      {.flip = false, .layout = layout_});
  }

 private:
  std::int64_t multiplier_;
  SharedVariable depthwise_, pointwise_;
};

class TransposeDefinition : public ConvDefinition {
 public:
  TransposeDefinition(const std::string& type, int axes, std::int64_t filters, const PerAxis& window,
                      const ConvLayerOptions& options)
      : ConvDefinition(type, axes, filters, window, options, false) {
    if (options.groups != 1) refuse("has no groups");
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_image(inputs[0]);
    return with_sizes(inputs[0], filters_, [&](std::size_t j, std::int64_t n) { return n * strides_[j] + overlap(j); });
  }

 protected:
  Sizes kernel_shape() const override {
    Sizes shape = window_;
    shape.push_back(filters_);
    shape.push_back(channels_);
    return shape;
  }
  Variable convolved(const Variable& x) const override {
    std::vector<Operand> sizes;
    sizes.reserve(axis_count());
    for (std::size_t j = 0; j < axis_count(); ++j)
      sizes.emplace_back(x.shape(base::to_int(1 + first_size() + j)) * strides_[j] + overlap(j));
    return nnet::conv_transpose(x, ordered(value_of(kernel_)), conv_options(1), sizes);
  }

 private:
  /// The number of elements by which a window exceeds the stride; 0 for "same" padding.
  std::int64_t overlap(std::size_t j) const {
    const std::int64_t reach = dilations_[j] * (window_[j] - 1) + 1;
    return options_.padding == "same" ? 0 : std::max<std::int64_t>(reach - strides_[j], 0);
  }
};

}  // namespace

Conv1D::Conv1D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options, Where where)
    : Layer(make_layer_at<ConvDefinition>(where, "Conv1D", 1, filters, window, options, true)) {}
Conv2D::Conv2D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options, Where where)
    : Layer(make_layer_at<ConvDefinition>(where, "Conv2D", 2, filters, window, options, false)) {}
Conv3D::Conv3D(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options, Where where)
    : Layer(make_layer_at<ConvDefinition>(where, "Conv3D", 3, filters, window, options, false)) {}
Conv1DTranspose::Conv1DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options,
                                 Where where)
    : Layer(make_layer_at<TransposeDefinition>(where, "Conv1DTranspose", 1, filters, window, options)) {}
Conv2DTranspose::Conv2DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options,
                                 Where where)
    : Layer(make_layer_at<TransposeDefinition>(where, "Conv2DTranspose", 2, filters, window, options)) {}
Conv3DTranspose::Conv3DTranspose(std::int64_t filters, const PerAxis& window, const ConvLayerOptions& options,
                                 Where where)
    : Layer(make_layer_at<TransposeDefinition>(where, "Conv3DTranspose", 3, filters, window, options)) {}
DepthwiseConv1D::DepthwiseConv1D(const PerAxis& window, std::int64_t multiplier, const ConvLayerOptions& options,
                                 Where where)
    : Layer(make_layer_at<DepthwiseDefinition>(where, "DepthwiseConv1D", 1, window, multiplier, options)) {}
DepthwiseConv2D::DepthwiseConv2D(const PerAxis& window, std::int64_t multiplier, const ConvLayerOptions& options,
                                 Where where)
    : Layer(make_layer_at<DepthwiseDefinition>(where, "DepthwiseConv2D", 2, window, multiplier, options)) {}
SeparableConv1D::SeparableConv1D(std::int64_t filters, const PerAxis& window, std::int64_t multiplier,
                                 const ConvLayerOptions& options, Where where)
    : Layer(make_layer_at<SeparableDefinition>(where, "SeparableConv1D", 1, filters, window, multiplier, options)) {}
SeparableConv2D::SeparableConv2D(std::int64_t filters, const PerAxis& window, std::int64_t multiplier,
                                 const ConvLayerOptions& options, Where where)
    : Layer(make_layer_at<SeparableDefinition>(where, "SeparableConv2D", 2, filters, window, multiplier, options)) {}

}  // namespace croton::nn
