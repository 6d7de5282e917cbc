// The layers of <croton/nn/layers.hpp>, but the recurrent ones.
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

void bind_dense(nb::module_& m) {
  LayerClass<nn::Dense>(m, "Dense",
                        "activation(x kernel + bias) along the last axis: the kernel is (inputs, units), the bias "
                        "(units).")
      .def(
          "__init__",
          [](Handle<nn::Dense>* self, std::int64_t units, nb::handle activation, bool use_bias,
             nb::handle kernel_initializer, nb::handle bias_initializer, nb::handle kernel_regularizer,
             nb::handle bias_regularizer, nb::handle input_shape, std::optional<std::string> name) {
            make(self, units,
                 nn::DenseOptions{.activation = to_activation(activation),
                                  .use_bias = use_bias,
                                  .kernel_initializer = to_initializer(kernel_initializer),
                                  .bias_initializer = to_initializer(bias_initializer),
                                  .kernel_regularizer = to_regularizer(kernel_regularizer),
                                  .bias_regularizer = to_regularizer(bias_regularizer),
                                  .input_shape = to_optional_shape(input_shape),
                                  .name = text_or_empty(std::move(name))});
          },
          "units"_a, "activation"_a = nb::none(), "use_bias"_a = true, "kernel_initializer"_a = "glorot_uniform",
          "bias_initializer"_a = "zeros", "kernel_regularizer"_a = nb::none(), "bias_regularizer"_a = nb::none(),
          nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::Embedding>(m, "Embedding",
                            "Rows of a table (input_dim, output_dim) at integer positions. mask_zero: position 0 is "
                            "padding, which later layers with steps, and losses, leave out.")
      .def(
          "__init__",
          [](Handle<nn::Embedding>* self, std::int64_t rows, std::int64_t width, nb::handle initializer,
             nb::handle regularizer, bool mask_zero, nb::handle input_shape, std::optional<std::string> name) {
            make(self, rows, width,
                 nn::EmbeddingOptions{.initializer = to_initializer(initializer),
                                      .regularizer = to_regularizer(regularizer),
                                      .mask_zero = mask_zero,
                                      .input_shape = to_optional_shape(input_shape),
                                      .name = text_or_empty(std::move(name))});
          },
          "input_dim"_a, "output_dim"_a, "embeddings_initializer"_a = "random_uniform",
          "embeddings_regularizer"_a = nb::none(), "mask_zero"_a = false, nb::kw_only(), "input_shape"_a = nb::none(),
          "name"_a = nb::none());
}

void bind_norms(nb::module_& m) {
  LayerClass<nn::BatchNormalization>(
      m, "BatchNormalization",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of the batch in training (running "
      "averages follow: momentum old + (1 - momentum) new) and the running ones else. axis: of the channels, counted "
      "with the batch.")
      .def(
          "__init__",
          [](Handle<nn::BatchNormalization>* self, int axis, double momentum, double epsilon, bool center, bool scale,
             nb::handle input_shape, std::optional<std::string> name) {
            make(self, nn::BatchNormalizationOptions{.axis = axis,
                                                     .momentum = momentum,
                                                     .epsilon = epsilon,
                                                     .center = center,
                                                     .scale = scale,
                                                     .input_shape = to_optional_shape(input_shape),
                                                     .name = text_or_empty(std::move(name))});
          },
          "axis"_a = -1, "momentum"_a = 0.99, "epsilon"_a = 1e-3, "center"_a = true, "scale"_a = true, nb::kw_only(),
          "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::LayerNormalization>(m, "LayerNormalization",
                                     "gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of each "
                                     "sample along the axes, which are counted with the batch.")
      .def(
          "__init__",
          [](Handle<nn::LayerNormalization>* self, nb::handle axis, double epsilon, bool center, bool scale,
             nb::handle input_shape, std::optional<std::string> name) {
            make(self, nn::LayerNormalizationOptions{.axes = to_axes(axis),
                                                     .epsilon = epsilon,
                                                     .center = center,
                                                     .scale = scale,
                                                     .input_shape = to_optional_shape(input_shape),
                                                     .name = text_or_empty(std::move(name))});
          },
          "axis"_a = -1, "epsilon"_a = 1e-3, "center"_a = true, "scale"_a = true, nb::kw_only(),
          "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::GroupNormalization>(m, "GroupNormalization",
                                     "The same with the statistics of groups of the channels (the last axis), and a "
                                     "gamma and a beta for each channel. ShapeError where they do not divide evenly.")
      .def(
          "__init__",
          [](Handle<nn::GroupNormalization>* self, std::int64_t groups, double epsilon,
             std::optional<std::string> name) { make(self, groups, epsilon, text_or_empty(std::move(name))); },
          "groups"_a = 32, "epsilon"_a = 1e-3, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::InstanceNormalization>(m, "InstanceNormalization", "The same of each channel by itself.")
      .def(
          "__init__",
          [](Handle<nn::InstanceNormalization>* self, double epsilon, std::optional<std::string> name) {
            make(self, epsilon, text_or_empty(std::move(name)));
          },
          "epsilon"_a = 1e-3, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::RMSNormalization>(m, "RMSNormalization", "x scale / sqrt(mean of x^2 + epsilon) along the last axis.")
      .def(
          "__init__",
          [](Handle<nn::RMSNormalization>* self, double epsilon, std::optional<std::string> name) {
            make(self, epsilon, text_or_empty(std::move(name)));
          },
          "epsilon"_a = 1e-6, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::UnitNormalization>(m, "UnitNormalization",
                                    "x divided by its length along the axes, which are counted with the batch; zeros "
                                    "stay zeros.")
      .def(
          "__init__",
          [](Handle<nn::UnitNormalization>* self, nb::handle axis, std::optional<std::string> name) {
            make(self, to_axes(axis), text_or_empty(std::move(name)));
          },
          "axis"_a = -1, nb::kw_only(), "name"_a = nb::none());
}

/// One number, and a name.
template <class L>
void bind_rate(nb::module_& m, const char* name, const char* parameter, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, double rate, std::optional<std::string> its_name) {
            make(self, rate, text_or_empty(std::move(its_name)));
          },
          nb::arg(parameter), nb::kw_only(), "name"_a = nb::none());
}

template <class L>
void bind_spatial(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, double rate, const std::string& data_format, std::optional<std::string> its_name) {
            make(self, rate, to_data_format(data_format), text_or_empty(std::move(its_name)));
          },
          "rate"_a, "data_format"_a = "channels_last", nb::kw_only(), "name"_a = nb::none());
}

void bind_noise(nb::module_& m) {
  bind_rate<nn::Dropout>(m, "Dropout", "rate",
                         "In training each element is 0 with probability `rate`, and the others are divided by 1 - "
                         "rate. ValueError unless 0 <= rate < 1.");
  bind_rate<nn::SpatialDropout1D>(m, "SpatialDropout1D", "rate",
                                  "Dropout of whole channels of (steps, channels): what is dropped is 0 in all steps.");
  bind_spatial<nn::SpatialDropout2D>(m, "SpatialDropout2D", "Dropout of whole channels of images of two axes.");
  bind_spatial<nn::SpatialDropout3D>(m, "SpatialDropout3D", "Dropout of whole channels of images of three axes.");
  bind_rate<nn::GaussianDropout>(m, "GaussianDropout", "rate",
                                 "In training x times normal numbers around 1, whose deviation is sqrt(rate / (1 - "
                                 "rate)).");
  bind_rate<nn::GaussianNoise>(m, "GaussianNoise", "stddev", "In training x plus normal numbers.");
}

void bind_shapes(nb::module_& m) {
  LayerClass<nn::Masking>(m, "Masking",
                          "Steps all of whose features are mask_value do not count for the layers behind.")
      .def(
          "__init__",
          [](Handle<nn::Masking>* self, double value, nb::handle input_shape, std::optional<std::string> name) {
            make(self, value, to_optional_shape(input_shape), text_or_empty(std::move(name)));
          },
          "mask_value"_a = 0.0, nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::Flatten>(m, "Flatten", "All axes but the batch as one.")
      .def(
          "__init__",
          [](Handle<nn::Flatten>* self, nb::handle input_shape, std::optional<std::string> name) {
            make(self, to_optional_shape(input_shape), text_or_empty(std::move(name)));
          },
          nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::Reshape>(m, "Reshape",
                          "The same elements in another shape, told without the batch. One size may be -1 (or None): "
                          "what is left. ShapeError where the numbers of elements differ.")
      .def(
          "__init__",
          [](Handle<nn::Reshape>* self, nb::handle shape, nb::handle input_shape, std::optional<std::string> name) {
            make(self, to_shape(shape), to_optional_shape(input_shape), text_or_empty(std::move(name)));
          },
          "target_shape"_a, nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
  LayerClass<nn::Permute>(m, "Permute", "Axes in this order, counted from 1 (0 is the batch).")
      .def(
          "__init__",
          [](Handle<nn::Permute>* self, nb::handle dims, std::optional<std::string> name) {
            make(self, to_axes(dims), text_or_empty(std::move(name)));
          },
          "dims"_a, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::RepeatVector>(m, "RepeatVector", "(features) as (n, features), the same in all steps.")
      .def(
          "__init__",
          [](Handle<nn::RepeatVector>* self, std::int64_t n, std::optional<std::string> name) {
            make(self, n, text_or_empty(std::move(name)));
          },
          "n"_a, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::TimeDistributed>(m, "TimeDistributed",
                                  "A layer on each step: (steps, ...) becomes (steps, what the layer gives for one). "
                                  "All steps of all samples are one batch for it.")
      .def(
          "__init__",
          [](Handle<nn::TimeDistributed>* self, const nn::Layer& layer, nb::handle input_shape,
             std::optional<std::string> name) {
            make(self, layer, to_optional_shape(input_shape), text_or_empty(std::move(name)));
          },
          "layer"_a, nb::kw_only(), "input_shape"_a = nb::none(), "name"_a = nb::none());
}

void bind_activation_layers(nb::module_& m) {
  LayerClass<nn::ActivationLayer>(m, "Activation", "An activation, by name or as a function, as a layer.")
      .def(
          "__init__",
          [](Handle<nn::ActivationLayer>* self, nb::handle activation, std::optional<std::string> name) {
            make(self, to_activation(activation), text_or_empty(std::move(name)));
          },
          "activation"_a, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::Softmax>(m, "Softmax", "exp(x) / sum(exp(x)) along the last axis.")
      .def("__init__", [](Handle<nn::Softmax>* self) { make(self); });
  LayerClass<nn::ReLU>(m, "ReLU",
                       "x where x > threshold, at most max_value; negative_slope (x - threshold) else. ValueError for "
                       "numbers below 0.")
      .def(
          "__init__",
          [](Handle<nn::ReLU>* self, std::optional<double> max_value, double negative_slope, double threshold,
             std::optional<std::string> name) {
            make(self, nn::ReLUOptions{.max_value = max_value,
                                       .negative_slope = negative_slope,
                                       .threshold = threshold,
                                       .name = text_or_empty(std::move(name))});
          },
          "max_value"_a = nb::none(), "negative_slope"_a = 0.0, "threshold"_a = 0.0, nb::kw_only(),
          "name"_a = nb::none());
  LayerClass<nn::LeakyReLU>(m, "LeakyReLU", "x where x > 0, negative_slope x below.")
      .def(
          "__init__",
          [](Handle<nn::LeakyReLU>* self, double slope, std::optional<std::string> name) {
            make(self, slope, text_or_empty(std::move(name)));
          },
          "negative_slope"_a = 0.3, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::ELU>(m, "ELU", "x where x > 0, alpha (exp(x) - 1) below.")
      .def(
          "__init__",
          [](Handle<nn::ELU>* self, double alpha, std::optional<std::string> name) {
            make(self, alpha, text_or_empty(std::move(name)));
          },
          "alpha"_a = 1.0, nb::kw_only(), "name"_a = nb::none());
  LayerClass<nn::PReLU>(m, "PReLU",
                        "x where x > 0, a slope that is learnt times x below; of each place by itself, or one along "
                        "each of shared_axes, which are counted with the batch.")
      .def(
          "__init__",
          [](Handle<nn::PReLU>* self, nb::handle initializer, nb::handle regularizer, nb::handle shared_axes,
             std::optional<std::string> name) {
            make(self,
                 nn::PReLUOptions{.alpha_initializer = to_initializer(initializer),
                                  .alpha_regularizer = to_regularizer(regularizer),
                                  .shared_axes = shared_axes.is_none() ? std::vector<int>() : to_axes(shared_axes),
                                  .name = text_or_empty(std::move(name))});
          },
          "alpha_initializer"_a = "zeros", "alpha_regularizer"_a = nb::none(), "shared_axes"_a = nb::none(),
          nb::kw_only(), "name"_a = nb::none());
}

/// Of two or more tensors, elementwise.
template <class L>
void bind_merging(nb::module_& m, const char* name, const char* doc) {
  LayerClass<L>(m, name, doc)
      .def(
          "__init__",
          [](Handle<L>* self, std::optional<std::string> its_name) { make(self, text_or_empty(std::move(its_name))); },
          nb::kw_only(), "name"_a = nb::none());
}

void bind_merging_layers(nb::module_& m) {
  LayerClass<nn::Concatenate>(m, "Concatenate",
                              "Two or more tensors, which have equal sizes along all other axes, one behind another "
                              "along the axis, which counts the batch as 0.")
      .def(
          "__init__",
          [](Handle<nn::Concatenate>* self, int axis, std::optional<std::string> name) {
            make(self, axis, text_or_empty(std::move(name)));
          },
          "axis"_a = -1, nb::kw_only(), "name"_a = nb::none());
  bind_merging<nn::Add>(m, "Add", "The sum of two or more tensors; sizes of 1 broadcast.");
  bind_merging<nn::Subtract>(m, "Subtract", "The difference of two tensors; sizes of 1 broadcast.");
  bind_merging<nn::Multiply>(m, "Multiply", "The product of two or more tensors; sizes of 1 broadcast.");
  bind_merging<nn::Average>(m, "Average", "The mean of two or more tensors; sizes of 1 broadcast.");
  bind_merging<nn::Maximum>(m, "Maximum", "The largest of two or more tensors; sizes of 1 broadcast.");
  bind_merging<nn::Minimum>(m, "Minimum", "The smallest of two or more tensors; sizes of 1 broadcast.");
  LayerClass<nn::Dot>(m, "Dot",
                      "The sum of products of two tensors along one axis of each, counted with the batch: one number "
                      "for both, or one each; what is left of the first stands in front. normalize: vectors of length "
                      "1 along the axis are taken.")
      .def(
          "__init__",
          [](Handle<nn::Dot>* self, nb::handle axes, bool normalize, std::optional<std::string> name) {
            make(self, to_per_axis(axes),
                 nn::DotOptions{.normalize = normalize, .name = text_or_empty(std::move(name))});
          },
          "axes"_a, "normalize"_a = false, nb::kw_only(), "name"_a = nb::none());
  m.def(
      "concatenate", [](const std::vector<nn::Tensor>& x, int axis) { return nn::concatenate(x, axis, here()); },
      "inputs"_a, "axis"_a = -1, "Concatenate(axis) of a list of tensors.");
  m.def(
      "add", [](const std::vector<nn::Tensor>& x) { return nn::add(x, here()); }, "inputs"_a,
      "The sum of a list of tensors.");
}

}  // namespace

void bind_nn_layers(nb::module_& m) {
  bind_dense(m);
  bind_norms(m);
  bind_noise(m);
  bind_shapes(m);
  bind_activation_layers(m);
  bind_merging_layers(m);
}

}  // namespace croton::python
