// The layers of <croton/nn/image_layers.hpp>.
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

/// What all convolutions are told, in the order in which Keras has it.
struct ConvArguments {
  nb::handle strides;
  std::string padding, data_format;
  nb::handle dilation_rate;
  std::int64_t groups;
  nb::handle activation;
  bool use_bias;
  nb::handle kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, input_shape;
  std::optional<std::string> name;

  nn::ConvLayerOptions options() && {
    return {.strides = to_per_axis(strides),
            .dilations = to_per_axis(dilation_rate),
            .padding = padding,
            .groups = groups,
            .layout = to_data_format(data_format),
            .activation = to_activation(activation),
            .use_bias = use_bias,
            .kernel_initializer = to_initializer(kernel_initializer),
            .bias_initializer = to_initializer(bias_initializer),
            .kernel_regularizer = to_regularizer(kernel_regularizer),
            .bias_regularizer = to_regularizer(bias_regularizer),
            .input_shape = to_optional_shape(input_shape),
            .name = text_or_empty(std::move(name))};
  }
};

/// `Own`: the types of what stands in front of the options, `own` their names and values.
template <class L, class... Own, class... Names>
void bind_conv(nb::module_& m, const char* name, const char* doc, const Names&... own) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, Own... arguments, nb::handle strides, std::string padding, std::string data_format,
             nb::handle dilation_rate, std::int64_t groups, nb::handle activation, bool use_bias,
             nb::handle kernel_initializer, nb::handle bias_initializer, nb::handle kernel_regularizer,
             nb::handle bias_regularizer, nb::handle input_shape, std::optional<std::string> its_name) {
            const auto converted = [](auto argument) {
              if constexpr (std::is_same_v<decltype(argument), nb::handle>) {
                return to_per_axis(argument);
              } else {
                return argument;
              }
            };
            make(self, converted(arguments)...,
                 ConvArguments{strides, std::move(padding), std::move(data_format), dilation_rate, groups, activation,
                               use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
                               input_shape, std::move(its_name)}
                     .options());
          },
          own..., "strides"_a = 1, "padding"_a = "valid", "data_format"_a = "channels_last", "dilation_rate"_a = 1,
          "groups"_a = 1, "activation"_a = nb::none(), "use_bias"_a = true, "kernel_initializer"_a = "glorot_uniform",
          "bias_initializer"_a = "zeros", nb::kw_only(), "kernel_regularizer"_a = nb::none(),
          "bias_regularizer"_a = nb::none(), "input_shape"_a = nb::none(), "name"_a = nb::none(),
          "Sizes, strides and dilations: one number for all axes, or one each. padding: 'valid', 'same', and 'causal' "
          "for one axis. ShapeError for images that it does not take.");
}

void bind_convolutions(nb::module_& m) {
  constexpr const char* plain =
      "activation(cross-correlation with the kernel + bias). The kernel is (window..., channels / groups, filters), "
      "whatever the data_format.";
  constexpr const char* transposed =
      "The transposed convolution: sizes grow by the strides. The kernel is (window..., filters, channels).";
  constexpr const char* depthwise =
      "Each channel by itself with depth_multiplier filters: the kernel is (window..., channels, depth_multiplier), "
      "the result has channels times depth_multiplier channels.";
  constexpr const char* separable =
      "A depthwise convolution, then a mix of its channels at each place: the kernels are (window..., channels, "
      "depth_multiplier) and (1..., channels times depth_multiplier, filters).";
  const auto filters = "filters"_a, window = "kernel_size"_a;
  const auto multiplier = "depth_multiplier"_a = 1;
  bind_conv<nn::Conv1D, std::int64_t, nb::handle>(m, "Conv1D", plain, filters, window);
  bind_conv<nn::Conv2D, std::int64_t, nb::handle>(m, "Conv2D", plain, filters, window);
  bind_conv<nn::Conv3D, std::int64_t, nb::handle>(m, "Conv3D", plain, filters, window);
  bind_conv<nn::Conv1DTranspose, std::int64_t, nb::handle>(m, "Conv1DTranspose", transposed, filters, window);
  bind_conv<nn::Conv2DTranspose, std::int64_t, nb::handle>(m, "Conv2DTranspose", transposed, filters, window);
  bind_conv<nn::Conv3DTranspose, std::int64_t, nb::handle>(m, "Conv3DTranspose", transposed, filters, window);
  bind_conv<nn::DepthwiseConv1D, nb::handle, std::int64_t>(m, "DepthwiseConv1D", depthwise, window, multiplier);
  bind_conv<nn::DepthwiseConv2D, nb::handle, std::int64_t>(m, "DepthwiseConv2D", depthwise, window, multiplier);
  bind_conv<nn::SeparableConv1D, std::int64_t, nb::handle, std::int64_t>(m, "SeparableConv1D", separable, filters,
                                                                         window, multiplier);
  bind_conv<nn::SeparableConv2D, std::int64_t, nb::handle, std::int64_t>(m, "SeparableConv2D", separable, filters,
                                                                         window, multiplier);
}

template <class L>
void bind_pool(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, nb::handle window, nb::handle strides, std::string padding,
             const std::string& data_format, nb::handle input_shape, std::optional<std::string> its_name) {
            make(self, to_per_axis(window),
                 nn::PoolLayerOptions{.strides = to_per_axis(strides),
                                      .padding = std::move(padding),
                                      .layout = to_data_format(data_format),
                                      .input_shape = to_optional_shape(input_shape),
                                      .name = text_or_empty(std::move(its_name))});
          },
          "pool_size"_a = 2, "strides"_a = nb::none(), "padding"_a = "valid", "data_format"_a = "channels_last",
          nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none(),
          "strides: the window's sizes if None. padding: 'valid', or 'same', which counts nothing outside.");
}

template <class L>
void bind_global_pool(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [name](Handle<L>* self, const std::string& data_format, std::optional<std::string> its_name) {
            const nn::Layout layout = to_data_format(data_format);
            if constexpr (std::is_constructible_v<L, nn::Layout, std::string, Where>) {
              make(self, layout, text_or_empty(std::move(its_name)));
            } else {  // the one of any number of axes
              make(self, layout, text_or_empty(std::move(its_name)), name, 0);
            }
          },
          "data_format"_a = "channels_last", nb::kw_only(), "name"_a = nb::none());
}

void bind_pools(nb::module_& m) {
  constexpr const char* largest = "The largest number of each window; of ties the first has the gradient.";
  constexpr const char* mean = "The mean of each window.";
  bind_pool<nn::MaxPooling1D>(m, "MaxPooling1D", largest);
  bind_pool<nn::MaxPooling2D>(m, "MaxPooling2D", largest);
  bind_pool<nn::MaxPooling3D>(m, "MaxPooling3D", largest);
  bind_pool<nn::AveragePooling1D>(m, "AveragePooling1D", mean);
  bind_pool<nn::AveragePooling2D>(m, "AveragePooling2D", mean);
  bind_pool<nn::AveragePooling3D>(m, "AveragePooling3D", mean);
  constexpr const char* largest_of_all = "The largest number of each channel: (sizes..., channels) becomes (channels).";
  constexpr const char* mean_of_all = "The mean of each channel: (sizes..., channels) becomes (channels).";
  bind_global_pool<nn::GlobalMaxPooling>(m, "GlobalMaxPooling", largest_of_all);
  bind_global_pool<nn::GlobalMaxPooling1D>(m, "GlobalMaxPooling1D", largest_of_all);
  bind_global_pool<nn::GlobalMaxPooling2D>(m, "GlobalMaxPooling2D", largest_of_all);
  bind_global_pool<nn::GlobalMaxPooling3D>(m, "GlobalMaxPooling3D", largest_of_all);
  bind_global_pool<nn::GlobalAveragePooling>(m, "GlobalAveragePooling", mean_of_all);
  bind_global_pool<nn::GlobalAveragePooling1D>(m, "GlobalAveragePooling1D", mean_of_all);
  bind_global_pool<nn::GlobalAveragePooling2D>(m, "GlobalAveragePooling2D", mean_of_all);
  bind_global_pool<nn::GlobalAveragePooling3D>(m, "GlobalAveragePooling3D", mean_of_all);
}

/// Lists as long as there are axes of images, by the number of them.
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
      throw ValueError("widths are one number, or one or a pair (before, after) for each of 1 to 3 axes");
  }
}

/// `1`, `(1, 2)`, `((0, 1), (2, 2))`.
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

template <class L>
void bind_margins(nb::module_& m, const char* name, const char* parameter, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, nb::handle widths, const std::string& data_format, std::optional<std::string> its_name) {
            make(self, to_margins(widths), to_data_format(data_format), text_or_empty(std::move(its_name)));
          },
          nb::arg(parameter) = 1, "data_format"_a = "channels_last", nb::kw_only(), "name"_a = nb::none(),
          "One number for both sides of all axes, one for each axis, or a pair (before, after) for each axis; of a "
          "single axis (1, 2) is such a pair.");
}

template <class L>
void bind_upsampling(nb::module_& m, const char* name) {
  LayerClass<L>(m, name,
                "Each element becomes as many as `size` says, or with 'linear' what lies between the centres of two.")
      .def(
          "__init__",
          [](Handle<L>* self, nb::handle size, const std::string& interpolation, const std::string& data_format,
             std::optional<std::string> its_name) {
            using nn::Interpolation;
            make(self, to_per_axis(size),
                 choice<Interpolation>(interpolation, "interpolation",
                                       {{"nearest", Interpolation::nearest},
                                        {"linear", Interpolation::linear},
                                        {"bilinear", Interpolation::linear}}),
                 to_data_format(data_format), text_or_empty(std::move(its_name)));
          },
          "size"_a = 2, "interpolation"_a = "nearest", "data_format"_a = "channels_last", nb::kw_only(),
          "name"_a = nb::none());
}

void bind_edges(nb::module_& m) {
  constexpr const char* zeros = "Zeros around images.";
  constexpr const char* cut = "Images without what is at their edges; ShapeError where nothing would be left.";
  bind_margins<nn::ZeroPadding1D>(m, "ZeroPadding1D", "padding", zeros);
  bind_margins<nn::ZeroPadding2D>(m, "ZeroPadding2D", "padding", zeros);
  bind_margins<nn::ZeroPadding3D>(m, "ZeroPadding3D", "padding", zeros);
  bind_margins<nn::Cropping1D>(m, "Cropping1D", "cropping", cut);
  bind_margins<nn::Cropping2D>(m, "Cropping2D", "cropping", cut);
  bind_margins<nn::Cropping3D>(m, "Cropping3D", "cropping", cut);
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
