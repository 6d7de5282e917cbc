// Convolutions, pooling, and images made larger.
#include <croton/convolution.hpp>
#include <croton/nn/layers.hpp>
#include <croton/op.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "builder/gradient_context.hpp"
#include "nn/floats.hpp"

namespace croton::nn {
namespace {

using Steps = std::vector<std::int64_t>;

/// A layer of images with so many axes of sizes; 0: any number.
class Images : public LayerDefinition {
 public:
  Images(const std::string& type, const std::string& name, int axes, Layout layout)
      : LayerDefinition(type, name), axes_(axes), layout_(layout) {}

 protected:
  bool last() const { return layout_ == Layout::channels_last; }

  /// One number for each axis, of one for all or one each; `none` where none are given. ValueError below `least`.
  Steps each(const Steps& given, std::string_view what, std::int64_t none = 1, std::int64_t least = 1) const {
    const auto count = static_cast<std::size_t>(axes_);
    if (given.size() > 1 && given.size() != count)
      refuse(fmt::format("{} {} for {} axes; one is for all", given.size(), what, axes_));
    for (const std::int64_t number : given) {
      if (number < least) refuse(fmt::format("{} of {}; they are at least {}", what, number, least));
    }
    return given.size() == count ? given : Steps(count, given.empty() ? none : given[0]);
  }

  /// The shape must have the sizes and channels.
  void check_rank(const Shape& shape) const {
    if (static_cast<int>(shape.size()) == axes_ + 1) return;
    fail(fmt::format("takes images of {} axes and channels, but {}", axes_, to_string(shape)));
  }
  std::size_t channel_axis() const { return last() ? static_cast<std::size_t>(axes_) : 0; }
  std::size_t first_size() const { return last() ? 0 : 1; }

  /// Each size changed, and another number of channels.
  template <class F>
  Shape with_sizes(Shape shape, std::int64_t channels, F f) const {
    for (std::size_t j = 0; j < static_cast<std::size_t>(axes_); ++j) {
      std::int64_t& size = shape[first_size() + j];
      if (size != any_size) size = f(j, size);
    }
    shape[channel_axis()] = channels;
    return shape;
  }
  /// How many windows of so many elements there are in n.
  std::int64_t windows(const std::string& padding, std::int64_t n, std::int64_t reach, std::int64_t stride,
                       const Shape& shape) const {
    if (padding == "same" || padding == "causal") return (n + stride - 1) / stride;
    if (n < reach) fail(fmt::format("a window of {} elements in {}", reach, to_string(shape)));
    return (n - reach) / stride + 1;
  }
  void check_padding(const std::string& padding, bool causal) const {
    if (padding == "valid" || padding == "same" || (causal && padding == "causal")) return;
    refuse(fmt::format("a padding \"{}\"; valid{} same{} are known", padding, causal ? "," : " and",
                       causal ? " and causal" : ""));
  }

  int axes_;
  Layout layout_;
};

// ---- convolutions ----

class ConvDefinition : public Images {
 public:
  ConvDefinition(const std::string& type, int axes, std::int64_t filters, const Steps& window,
                 const ConvLayerOptions& options)
      : Images(type, options.name, axes, options.layout),
        filters_(filters),
        window_(each(window, "window sizes")),
        strides_(each(options.strides, "strides")),
        dilations_(each(options.dilations, "dilations")),
        options_(options) {
    if (filters < 1) refuse(fmt::format("{} filters; there is at least 1", filters));
    if (options.groups < 1) refuse(fmt::format("{} groups; there is at least 1", options.groups));
    if (filters % options.groups != 0)
      refuse(fmt::format("{} filters do not divide into {} groups", filters, options.groups));
    check_padding(options.padding, axes == 1);
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
    if (options_.use_bias)
      bias_ = add_weight("bias", {results(channels_)},
                         {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    Variable y = convolved(in_floats(inputs[0].value), value_of(kernel_));
    if (options_.use_bias) y = y + beside(value_of(bias_));
    return {options_.activation(y)};
  }

 protected:
  void check_image(const Shape& shape) const {
    check_rank(shape);
    const std::int64_t channels = shape[channel_axis()];
    if (built() && channels != any_size && channels != channels_)
      fail(fmt::format("takes {} channels, but {}", channels_, to_string(shape)));
  }
  virtual Sizes kernel_shape() const {
    Sizes shape = window_;
    shape.push_back(channels_ == any_size ? any_size : channels_ / options_.groups);
    shape.push_back(filters_);
    return shape;
  }
  virtual std::int64_t results(std::int64_t /*channels*/) const { return filters_; }
  virtual Variable convolved(const Variable& x, const Variable& kernel) const {
    return nnet::conv(x, ordered(kernel), conv_options(options_.groups));
  }
  nnet::ConvOptions conv_options(std::int64_t groups) const {
    return {.border = nnet::Border(options_.padding),
            .strides = strides_,
            .dilations = dilations_,
            .groups = groups,
            .flip = false,
            .layout = layout_};
  }
  /// The kernel, whose window comes first, as convolutions of the layout take filters.
  Variable ordered(const Variable& kernel) const {
    if (last()) return kernel;
    std::vector<int> order{axes_ + 1, axes_};
    for (int j = 0; j < axes_; ++j) order.push_back(j);
    return transpose(kernel, order);
  }
  /// A number for each channel, beside images.
  Variable beside(const Variable& channels) const { return last() ? channels : shape_padright(channels, axes_); }

  std::int64_t filters_, channels_ = any_size;
  Steps window_, strides_, dilations_;
  ConvLayerOptions options_;
  SharedVariable kernel_, bias_;
};

class DepthwiseDefinition : public ConvDefinition {
 public:
  DepthwiseDefinition(const Steps& window, std::int64_t multiplier, const ConvLayerOptions& options)
      : ConvDefinition("DepthwiseConv2D", 2, multiplier, window, options) {
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
  Variable convolved(const Variable& x, const Variable& kernel) const override {
    std::vector<Operand> sizes;
    for (const std::int64_t size : window_) sizes.emplace_back(size);
    sizes.emplace_back(1);
    sizes.emplace_back(results(channels_));
    return nnet::conv(x, ordered(reshape(kernel, sizes)), conv_options(channels_));
  }
};

class TransposeDefinition : public ConvDefinition {
 public:
  TransposeDefinition(std::int64_t filters, const Steps& window, const ConvLayerOptions& options)
      : ConvDefinition("Conv2DTranspose", 2, filters, window, options) {
    if (options.groups != 1) refuse("has no groups");
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_image(inputs[0]);
    return with_sizes(inputs[0], filters_, [&](std::size_t j, std::int64_t n) { return n * strides_[j] + more(j); });
  }

 protected:
  Sizes kernel_shape() const override {
    Sizes shape = window_;
    shape.push_back(filters_);
    shape.push_back(channels_);
    return shape;
  }
  Variable convolved(const Variable& x, const Variable& kernel) const override {
    std::vector<Operand> sizes;
    sizes.reserve(static_cast<std::size_t>(axes_));
    for (std::size_t j = 0; j < static_cast<std::size_t>(axes_); ++j)
      sizes.emplace_back(x.shape(static_cast<int>(1 + first_size() + j)) * strides_[j] + more(j));
    return nnet::conv_transpose(x, ordered(kernel), conv_options(1), sizes);
  }

 private:
  /// How far the last window reaches beyond its stride.
  std::int64_t more(std::size_t j) const {
    const std::int64_t reach = dilations_[j] * (window_[j] - 1) + 1;
    return options_.padding == "same" ? 0 : std::max<std::int64_t>(reach - strides_[j], 0);
  }
};

// ---- pooling ----

class PoolDefinition : public Images {
 public:
  PoolDefinition(const std::string& type, int axes, bool is_max, const Steps& window, const PoolLayerOptions& options)
      : Images(type, options.name, axes, options.layout),
        is_max_(is_max),
        window_(each(window, "window sizes")),
        strides_(options.strides.empty() ? window_ : each(options.strides, "strides")),
        options_(options) {
    check_padding(options.padding, false);
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0][channel_axis()], [&](std::size_t j, std::int64_t n) {
      return windows(options_.padding, n, window_[j], strides_[j], inputs[0]);
    });
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    return {nnet::pool(in_floats(inputs[0].value), window_,
                       {.strides = strides_,
                        .border = nnet::Border(options_.padding),
                        .mode = is_max_ ? nnet::PoolMode::max : nnet::PoolMode::average_exc_pad,
                        .layout = layout_,
                        .ties = nnet::Ties::first})};
  }

 private:
  bool is_max_;
  Steps window_, strides_;
  PoolLayerOptions options_;
};

/// The maximum over the axes, whose gradient goes to the first one in row-major order.
Variable first_maximum(const Variable& x, const std::vector<int>& axes) {
  const Variable stand_in =
      variable({x.dtype(), std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), unknown_size)});
  const auto gradient = [axes](const std::vector<Variable>& in, const std::vector<Variable>&,
                               const std::vector<Variable>& g) -> std::vector<Variable> {
    const Variable& image = in[0];
    std::vector<int> spread;
    for (int axis = 0, next = 0; axis < image.rank(); ++axis)
      spread.push_back(std::ranges::find(axes, axis) == axes.end() ? next++ : broadcast_axis);
    // Axis by axis, which is the form that rules know: sums of it take what stands at the place.
    Variable rest = argmax(image, ReduceOptions(axes)), here;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const Variable size = image.shape(axes[i]);
      std::vector<int> along(static_cast<std::size_t>(image.rank()), broadcast_axis);
      along[static_cast<std::size_t>(axes[i])] = 0;
      const Variable place = i == 0 ? rest : rest % size;
      const Variable is_place = eq(dimshuffle(arange(size), along), dimshuffle(place, spread));
      here = here.defined() ? here & is_place : is_place;
      rest = floor_divide(rest, size);
    }
    return {where(here, dimshuffle(g[0], spread), builder::number(0, image))};
  };
  return OpFromGraph({stand_in}, {croton::max(stand_in, ReduceOptions(axes))},
                     {.name = "global_max", .gradient = gradient}, x.where())(x);
}

class GlobalPoolDefinition : public LayerDefinition {
 public:
  GlobalPoolDefinition(const std::string& type, bool is_max, int axes, Layout layout, const std::string& name)
      : LayerDefinition(type, name), is_max_(is_max), axes_(axes), layout_(layout) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Shape& shape = inputs[0];
    if (shape.size() < 2 || (axes_ != 0 && static_cast<int>(shape.size()) != axes_ + 1))
      fail(fmt::format("takes images of {} and channels, but {}",
                       axes_ == 0 ? "one axis or more" : fmt::format("{} axes", axes_), to_string(shape)));
    return {layout_ == Layout::channels_last ? shape.back() : shape.front()};
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    std::vector<int> axes(static_cast<std::size_t>(x.rank() - 2));
    std::iota(axes.begin(), axes.end(), layout_ == Layout::channels_last ? 1 : 2);
    if (is_max_) return {first_maximum(x, axes)};
    const ReduceOptions over(axes);
    // A mask is of axis 1, which the mean is not over where the channels come first.
    const Variable& mask = inputs[0].mask;
    if (!mask.defined() || layout_ == Layout::channels_first) return {mean(x, over)};
    const Variable counted = shape_padright(cast(mask, x.dtype()), x.rank() - mask.rank());
    return {mean(x * counted, over) / mean(counted, over)};
  }

 private:
  bool is_max_;
  int axes_;
  Layout layout_;
};

// ---- larger images ----

class PaddingDefinition : public Images {
 public:
  PaddingDefinition(const Steps& widths, const std::string& name)
      : Images("ZeroPadding2D", name, 2, Layout::channels_last), widths_(each(widths, "widths", 0, 0)) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0].back(), [&](std::size_t j, std::int64_t n) { return n + 2 * widths_[j]; });
  }
  DType output_dtype(const std::vector<DType>& inputs) const override { return inputs[0]; }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Operand none(0);
    return {pad(inputs[0].value, {{none, none},
                                  {Operand(widths_[0]), Operand(widths_[0])},
                                  {Operand(widths_[1]), Operand(widths_[1])},
                                  {none, none}})};
  }

 private:
  Steps widths_;
};

class UpSamplingDefinition : public Images {
 public:
  UpSamplingDefinition(const Steps& factors, Interpolation interpolation, Layout layout, const std::string& name)
      : Images("UpSampling2D", name, 2, layout), factors_(each(factors, "factors")), interpolation_(interpolation) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    check_rank(inputs[0]);
    return with_sizes(inputs[0], inputs[0][channel_axis()],
                      [&](std::size_t j, std::int64_t n) { return n * factors_[j]; });
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    return {nnet::upsample(in_floats(inputs[0].value), factors_, interpolation_, layout_)};
  }

 private:
  Steps factors_;
  Interpolation interpolation_;
};

}  // namespace

Conv1D::Conv1D(std::int64_t filters, const Steps& window, const ConvLayerOptions& options)
    : Layer(make_layer<ConvDefinition>("Conv1D", 1, filters, window, options)) {}
Conv1D::Conv1D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options)
    : Conv1D(filters, Steps{window}, options) {}
Conv2D::Conv2D(std::int64_t filters, const Steps& window, const ConvLayerOptions& options)
    : Layer(make_layer<ConvDefinition>("Conv2D", 2, filters, window, options)) {}
Conv2D::Conv2D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options)
    : Conv2D(filters, Steps{window}, options) {}
Conv3D::Conv3D(std::int64_t filters, const Steps& window, const ConvLayerOptions& options)
    : Layer(make_layer<ConvDefinition>("Conv3D", 3, filters, window, options)) {}
Conv3D::Conv3D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options)
    : Conv3D(filters, Steps{window}, options) {}
Conv2DTranspose::Conv2DTranspose(std::int64_t filters, const Steps& window, const ConvLayerOptions& options)
    : Layer(make_layer<TransposeDefinition>(filters, window, options)) {}
DepthwiseConv2D::DepthwiseConv2D(const Steps& window, std::int64_t multiplier, const ConvLayerOptions& options)
    : Layer(make_layer<DepthwiseDefinition>(window, multiplier, options)) {}
MaxPooling1D::MaxPooling1D(std::int64_t window, const PoolLayerOptions& options)
    : Layer(make_layer<PoolDefinition>("MaxPooling1D", 1, true, Steps{window}, options)) {}
MaxPooling2D::MaxPooling2D(const Steps& window, const PoolLayerOptions& options)
    : Layer(make_layer<PoolDefinition>("MaxPooling2D", 2, true, window, options)) {}
AveragePooling1D::AveragePooling1D(std::int64_t window, const PoolLayerOptions& options)
    : Layer(make_layer<PoolDefinition>("AveragePooling1D", 1, false, Steps{window}, options)) {}
AveragePooling2D::AveragePooling2D(const Steps& window, const PoolLayerOptions& options)
    : Layer(make_layer<PoolDefinition>("AveragePooling2D", 2, false, window, options)) {}
GlobalMaxPooling::GlobalMaxPooling(Layout layout, const std::string& name, const std::string& type, int axes)
    : Layer(make_layer<GlobalPoolDefinition>(type, true, axes, layout, name)) {}
GlobalAveragePooling::GlobalAveragePooling(Layout layout, const std::string& name, const std::string& type, int axes)
    : Layer(make_layer<GlobalPoolDefinition>(type, false, axes, layout, name)) {}
ZeroPadding2D::ZeroPadding2D(const Steps& widths, const std::string& name)
    : Layer(make_layer<PaddingDefinition>(widths, name)) {}
UpSampling2D::UpSampling2D(const Steps& factors, Interpolation interpolation, Layout layout, const std::string& name)
    : Layer(make_layer<UpSamplingDefinition>(factors, interpolation, layout, name)) {}

}  // namespace croton::nn
