// Pooling layers.
#include <croton/convolution.hpp>
#include <croton/nn/layers.hpp>
#include <croton/op.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "nn/floats.hpp"
#include "nn/images.hpp"

namespace croton::nn {
namespace {

class PoolDefinition : public ImageLayer {
 public:
  PoolDefinition(const std::string& type, int axes, bool is_max, const PerAxis& window, const PoolLayerOptions& options)
      : ImageLayer(type, options.name, axes, options.layout),
        is_max_(is_max),
        window_(each(window, "window sizes")),
        strides_(options.strides.numbers().empty() ? window_ : each(options.strides, "strides")),
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

/// The maximum over the axes; its gradient goes to the first maximum in row-major order.
Variable first_maximum(const Variable& x, const std::vector<int>& axes) {
  const Variable stand_in = variable({x.dtype(), Sizes(x.type().rank(), unknown_size)});
  const auto gradient = [axes](const std::vector<Variable>& in, const std::vector<Variable>&,
                               const std::vector<Variable>& g) -> std::vector<Variable> {
    const Variable& image = in[0];
    std::vector<int> spread;
    for (int axis = 0, next = 0; axis < image.rank(); ++axis)
      spread.push_back(std::ranges::find(axes, axis) == axes.end() ? next++ : broadcast_axis);
    // Axis by axis, the form that rewrite rules recognise: they replace its sums by the element at the position.
    Variable rest = argmax(image, ReduceOptions(axes)), here;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const Variable size = image.shape(axes[i]);
      std::vector<int> along(image.type().rank(), broadcast_axis);
      base::nth(along, axes[i]) = 0;
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
    if (shape.size() < 2 || (axes_ != 0 && std::cmp_not_equal(shape.size(), axes_ + 1)))
      fail(fmt::format("takes images of {} and channels, but {}",
                       axes_ == 0 ? "one axis or more" : fmt::format("{} axes", axes_), to_string(shape)));
    return {layout_ == Layout::channels_last ? shape.back() : shape.front()};
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    std::vector<int> axes(x.type().rank() - 2);
    std::iota(axes.begin(), axes.end(), layout_ == Layout::channels_last ? 1 : 2);
    if (is_max_) return {first_maximum(x, axes)};
    const ReduceOptions over(axes);
    // A mask is of axis 1, over which the mean is not taken if the channels come first.
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

}  // namespace

MaxPooling1D::MaxPooling1D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "MaxPooling1D", 1, true, window, options)) {}
MaxPooling2D::MaxPooling2D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "MaxPooling2D", 2, true, window, options)) {}
MaxPooling3D::MaxPooling3D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "MaxPooling3D", 3, true, window, options)) {}
AveragePooling1D::AveragePooling1D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "AveragePooling1D", 1, false, window, options)) {}
AveragePooling2D::AveragePooling2D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "AveragePooling2D", 2, false, window, options)) {}
AveragePooling3D::AveragePooling3D(const PerAxis& window, const PoolLayerOptions& options, Where where)
    : Layer(make_layer_at<PoolDefinition>(where, "AveragePooling3D", 3, false, window, options)) {}
GlobalMaxPooling::GlobalMaxPooling(Layout layout, const std::string& name, const std::string& type, int axes,
                                   Where where)
    : Layer(make_layer_at<GlobalPoolDefinition>(where, type, true, axes, layout, name)) {}
GlobalAveragePooling::GlobalAveragePooling(Layout layout, const std::string& name, const std::string& type, int axes,
                                           Where where)
    : Layer(make_layer_at<GlobalPoolDefinition>(where, type, false, axes, layout, name)) {}

}  // namespace croton::nn
