// The layers of <croton/nn/image_layers.hpp>.
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// The layer class of one kind of convolution. `Own`: the types of the arguments before the options; `own`: their
/// names.
template <class L, class... Own, class... Names>
void bind_conv(nb::module_& m, const char* name, const char* doc, const Names&... own) {
  using O = nn::ConvLayerOptions;
  bind_layer<L, Own...>(
      m, name, doc,
      keywords(std::tuple{Field{"strides", &O::strides}, Field{"padding", &O::padding},
                          Field{"data_format", &O::layout}, Field{"dilation_rate", &O::dilations},
                          Field{"groups", &O::groups}, OptionalField{"activation", &O::activation},
                          Field{"use_bias", &O::use_bias}, Field{"kernel_initializer", &O::kernel_initializer},
                          Field{"bias_initializer", &O::bias_initializer}},
               std::tuple{OptionalField{"kernel_regularizer", &O::kernel_regularizer},
                          OptionalField{"bias_regularizer", &O::bias_regularizer},
                          OptionalField{"input_shape", &O::input_shape}, OptionalField{"name", &O::name}}),
      own...,
      "Sizes, strides and dilations: one number for all axes, or one for each. padding: 'valid', 'same', and 'causal' "
      "for one axis. ShapeError for images of other ranks or channels.");
}

void bind_convolutions(nb::module_& m) {
  constexpr const char* plain =
      "The convolution activation(cross-correlation with the kernel + bias). The kernel is (window..., channels / "
      "groups, filters) in both data formats.";
  constexpr const char* transposed =
      "The transposed convolution: sizes grow by the strides. The kernel is (window..., filters, channels).";
  constexpr const char* depthwise =
      "The depthwise convolution: each channel has its own depth_multiplier filters. The kernel is (window..., "
      "channels, depth_multiplier), and the result has channels times depth_multiplier channels.";
  constexpr const char* separable =
      "The separable convolution: a depthwise convolution, then a pointwise one. The kernels are (window..., channels, "
      "depth_multiplier) and (1..., channels times depth_multiplier, filters).";
  const auto filters = "filters"_a, window = "kernel_size"_a;
  const auto multiplier = "depth_multiplier"_a = nn::default_depth_multiplier;
  bind_conv<nn::Conv1D, std::int64_t, nn::PerAxis>(m, "Conv1D", plain, filters, window);
  bind_conv<nn::Conv2D, std::int64_t, nn::PerAxis>(m, "Conv2D", plain, filters, window);
  bind_conv<nn::Conv3D, std::int64_t, nn::PerAxis>(m, "Conv3D", plain, filters, window);
  bind_conv<nn::Conv1DTranspose, std::int64_t, nn::PerAxis>(m, "Conv1DTranspose", transposed, filters, window);
  bind_conv<nn::Conv2DTranspose, std::int64_t, nn::PerAxis>(m, "Conv2DTranspose", transposed, filters, window);
  bind_conv<nn::Conv3DTranspose, std::int64_t, nn::PerAxis>(m, "Conv3DTranspose", transposed, filters, window);
  bind_conv<nn::DepthwiseConv1D, nn::PerAxis, std::int64_t>(m, "DepthwiseConv1D", depthwise, window, multiplier);
  bind_conv<nn::DepthwiseConv2D, nn::PerAxis, std::int64_t>(m, "DepthwiseConv2D", depthwise, window, multiplier);
  bind_conv<nn::SeparableConv1D, std::int64_t, nn::PerAxis, std::int64_t>(m, "SeparableConv1D", separable, filters,
                                                                          window, multiplier);
  bind_conv<nn::SeparableConv2D, std::int64_t, nn::PerAxis, std::int64_t>(m, "SeparableConv2D", separable, filters,
                                                                          window, multiplier);
}

template <class L>
void bind_pool(nb::module_& m, const char* name, const char* doc) {
  using O = nn::PoolLayerOptions;
  bind_layer<L, nn::PerAxis>(
      m, name, doc,
      keywords(std::tuple{OptionalField{"strides", &O::strides}, Field{"padding", &O::padding},
                          Field{"data_format", &O::layout}},
               std::tuple{OptionalField{"input_shape", &O::input_shape}, OptionalField{"name", &O::name}}),
      "pool_size"_a = nn::default_pool_window,
      "strides: the window's sizes if None. padding: 'valid', or 'same'; elements outside do not count.");
}

template <class L>
void bind_global_pool(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [name](Handle<L>* self, const std::string& data_format, std::optional<std::string> layer_name) {
            const nn::Layout layout = to_data_format(data_format);
            if constexpr (std::is_constructible_v<L, nn::Layout, std::string, Where>) {
              make(self, layout, text_or_empty(std::move(layer_name)));
            } else {  // the class for any number of axes
              make(self, layout, text_or_empty(std::move(layer_name)), name, 0);
            }
          },
          argument("data_format", nn::default_layout), nb::kw_only(), "name"_a = nb::none());
}

void bind_pools(nb::module_& m) {
  constexpr const char* maximum = "The maximum of each window; the gradient of ties goes to the first.";
  constexpr const char* mean = "The mean of each window.";
  bind_pool<nn::MaxPooling1D>(m, "MaxPooling1D", maximum);
  bind_pool<nn::MaxPooling2D>(m, "MaxPooling2D", maximum);
  bind_pool<nn::MaxPooling3D>(m, "MaxPooling3D", maximum);
  bind_pool<nn::AveragePooling1D>(m, "AveragePooling1D", mean);
  bind_pool<nn::AveragePooling2D>(m, "AveragePooling2D", mean);
  bind_pool<nn::AveragePooling3D>(m, "AveragePooling3D", mean);
  constexpr const char* global_maximum = "The maximum of each channel: (sizes..., channels) becomes (channels).";
  constexpr const char* global_mean = "The mean of each channel: (sizes..., channels) becomes (channels).";
  bind_global_pool<nn::GlobalMaxPooling>(m, "GlobalMaxPooling", global_maximum);
  bind_global_pool<nn::GlobalMaxPooling1D>(m, "GlobalMaxPooling1D", global_maximum);
  bind_global_pool<nn::GlobalMaxPooling2D>(m, "GlobalMaxPooling2D", global_maximum);
  bind_global_pool<nn::GlobalMaxPooling3D>(m, "GlobalMaxPooling3D", global_maximum);
  bind_global_pool<nn::GlobalAveragePooling>(m, "GlobalAveragePooling", global_mean);
  bind_global_pool<nn::GlobalAveragePooling1D>(m, "GlobalAveragePooling1D", global_mean);
  bind_global_pool<nn::GlobalAveragePooling2D>(m, "GlobalAveragePooling2D", global_mean);
  bind_global_pool<nn::GlobalAveragePooling3D>(m, "GlobalAveragePooling3D", global_mean);
}

/// Margins from one entry for each of 1 to 3 axes.
template <class T>
nn::Margins margins_of(const std::vector<T>& each) {
  using List = std::initializer_list<T>;
  switch (each.size()) {
    case 1:
      return nn::Margins(List{each[0]});
    case 2:
      return nn::Margins(List{each[0], each[1]});
    case 3:
      return nn::Margins(List{each[0], each[1], each[2]});
    default:
      throw ValueError("widths are one number, or a number or a pair (before, after) for each of 1 to 3 axes");
  }
}

/// Margins from `1`, `(1, 2)` or `((0, 1), (2, 2))`.
nn::Margins to_margins(nb::handle object) {
  if (!is_list(object)) return to_int(object, "a width");
  if (nb::len(object) == 0 || !is_list(object[0])) return margins_of(to_numbers(object, "a width"));
  std::vector<nn::Margins::Pair> pairs;
  for (const nb::handle item : object) {
    const std::vector<std::int64_t> pair = to_numbers(item, "a width");
    if (pair.size() != 2) throw ValueError("the widths of an axis are a pair (before, after)");
    pairs.emplace_back(pair[0], pair[1]);
  }
  return margins_of(pairs);
}

}  // namespace

template <>
struct Keyword<nn::Margins> : ObjectKeyword<&to_margins> {};

namespace {

template <class L>
void bind_margins(nb::module_& m, const char* name, const char* parameter, const char* doc) {
  bind_named<L, nn::Margins, nn::Layout>(m, name, doc, nb::arg(parameter) = nn::default_margin,
                                         argument("data_format", nn::default_layout),
                                         "One number for both sides of all axes, one for each axis, or a pair (before, "
                                         "after) for each axis; for a single axis (1, 2) is such a pair.");
}

template <class L>
void bind_upsampling(nb::module_& m, const char* name) {
  bind_named<L, nn::PerAxis, nn::Interpolation, nn::Layout>(
      m, name,
      "The images enlarged by `size`: elements are repeated, or with 'linear' interpolated between the centres of two.",
      "size"_a = nn::default_upsampling, argument("interpolation", nn::default_interpolation),
      argument("data_format", nn::default_layout));
}

void bind_edges(nb::module_& m) {
  constexpr const char* zeros = "The images with zeros around them.";
  constexpr const char* cropped = "The images without their margins; ShapeError if nothing would remain.";
  bind_margins<nn::ZeroPadding1D>(m, "ZeroPadding1D", "padding", zeros);
  bind_margins<nn::ZeroPadding2D>(m, "ZeroPadding2D", "padding", zeros);
  bind_margins<nn::ZeroPadding3D>(m, "ZeroPadding3D", "padding", zeros);
  bind_margins<nn::Cropping1D>(m, "Cropping1D", "cropping", cropped);
  bind_margins<nn::Cropping2D>(m, "Cropping2D", "cropping", cropped);
  bind_margins<nn::Cropping3D>(m, "Cropping3D", "cropping", cropped);
  bind_upsampling<nn::UpSampling1D>(m, "UpSampling1D");
  bind_upsampling<nn::UpSampling2D>(m, "UpSampling2D");
  bind_upsampling<nn::UpSampling3D>(m, "UpSampling3D");
}

}  // namespace

void bind_nn_image_layers(nb::module_& m) {
  bind_convolutions(m);
  bind_pools(m);
  bind_edges(m);
}

}  // namespace croton::python
