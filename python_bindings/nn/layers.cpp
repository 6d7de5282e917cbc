// The layers of <croton/nn/layers.hpp>, but the recurrent ones.
#include "core/lists.hpp"
#include "core/operands.hpp"
#include "nn/layer_class.hpp"
#include "nn/nn.hpp"

namespace croton::python {
namespace {

void bind_dense(nb::module_& m) {
  using Dense = nn::DenseOptions;
  bind_layer<nn::Dense, std::int64_t>(
      m, "Dense", "activation(x kernel + bias) along the last axis: the kernel is (inputs, units), the bias (units).",
      keywords(std::tuple{OptionalField{"activation", &Dense::activation}, Field{"use_bias", &Dense::use_bias},
                          Field{"kernel_initializer", &Dense::kernel_initializer},
                          Field{"bias_initializer", &Dense::bias_initializer},
                          OptionalField{"kernel_regularizer", &Dense::kernel_regularizer},
                          OptionalField{"bias_regularizer", &Dense::bias_regularizer}},
               std::tuple{OptionalField{"input_shape", &Dense::input_shape}, OptionalField{"name", &Dense::name}}),
      "units"_a);
  using Embedding = nn::EmbeddingOptions;
  bind_layer<nn::Embedding, std::int64_t, std::int64_t>(
      m, "Embedding",
      "Rows of a table (input_dim, output_dim) at integer positions. mask_zero: position 0 is padding, which later "
      "layers with steps, and losses, leave out.",
      keywords(
          std::tuple{Field{"embeddings_initializer", &Embedding::initializer},
                     OptionalField{"embeddings_regularizer", &Embedding::regularizer},
                     Field{"mask_zero", &Embedding::mask_zero}},
          std::tuple{OptionalField{"input_shape", &Embedding::input_shape}, OptionalField{"name", &Embedding::name}}),
      "input_dim"_a, "output_dim"_a);
}

void bind_norms(nb::module_& m) {
  using Batch = nn::BatchNormalizationOptions;
  bind_layer<nn::BatchNormalization>(
      m, "BatchNormalization",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of the batch in training (running "
      "averages follow: momentum old + (1 - momentum) new) and the running ones else. axis: of the channels, counted "
      "with the batch.",
      keywords(
          std::tuple{Field{"axis", &Batch::axis}, Field{"momentum", &Batch::momentum},
                     Field{"epsilon", &Batch::epsilon}, Field{"center", &Batch::center}, Field{"scale", &Batch::scale}},
          std::tuple{OptionalField{"input_shape", &Batch::input_shape}, OptionalField{"name", &Batch::name}}));
  using Layer = nn::LayerNormalizationOptions;
  bind_layer<nn::LayerNormalization>(
      m, "LayerNormalization",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of each sample along the axes, which "
      "are counted with the batch.",
      keywords(std::tuple{Field{"axis", &Layer::axes}, Field{"epsilon", &Layer::epsilon},
                          Field{"center", &Layer::center}, Field{"scale", &Layer::scale}},
               std::tuple{OptionalField{"input_shape", &Layer::input_shape}, OptionalField{"name", &Layer::name}}));
  bind_named<nn::GroupNormalization, std::int64_t, double>(
      m, "GroupNormalization",
      "The same with the statistics of groups of the channels (the last axis), and a gamma and a beta for each "
      "channel. ShapeError where they do not divide evenly.",
      "groups"_a = 32, "epsilon"_a = 1e-3);
  bind_named<nn::InstanceNormalization, double>(m, "InstanceNormalization", "The same of each channel by itself.",
                                                "epsilon"_a = 1e-3);
  bind_named<nn::RMSNormalization, double>(
      m, "RMSNormalization", "x scale / sqrt(mean of x^2 + epsilon) along the last axis.", "epsilon"_a = 1e-6);
  bind_named<nn::UnitNormalization, std::vector<int>>(
      m, "UnitNormalization",
      "x divided by its length along the axes, which are counted with the batch; zeros stay zeros.", "axis"_a = -1);
}

void bind_noise(nb::module_& m) {
  bind_named<nn::Dropout, double>(m, "Dropout",
                                  "In training each element is 0 with probability `rate`, and the others are divided "
                                  "by 1 - rate. ValueError unless 0 <= rate < 1.",
                                  "rate"_a);
  bind_named<nn::SpatialDropout1D, double>(
      m, "SpatialDropout1D", "Dropout of whole channels of (steps, channels): what is dropped is 0 in all steps.",
      "rate"_a);
  bind_named<nn::SpatialDropout2D, double, nn::Layout>(m, "SpatialDropout2D",
                                                       "Dropout of whole channels of images of two axes.", "rate"_a,
                                                       "data_format"_a = "channels_last");
  bind_named<nn::SpatialDropout3D, double, nn::Layout>(m, "SpatialDropout3D",
                                                       "Dropout of whole channels of images of three axes.", "rate"_a,
                                                       "data_format"_a = "channels_last");
  bind_named<nn::GaussianDropout, double>(
      m, "GaussianDropout", "In training x times normal numbers around 1, whose deviation is sqrt(rate / (1 - rate)).",
      "rate"_a);
  bind_named<nn::GaussianNoise, double>(m, "GaussianNoise", "In training x plus normal numbers.", "stddev"_a);
}

void bind_shapes(nb::module_& m) {
  bind_shaped<nn::Masking, double>(m, "Masking",
                                   "Steps all of whose features are mask_value do not count for the layers behind.",
                                   "mask_value"_a = 0.0);
  bind_shaped<nn::Flatten>(m, "Flatten", "All axes but the batch as one.");
  bind_shaped<nn::Reshape, nn::Shape>(m, "Reshape",
                                      "The same elements in another shape, told without the batch. One size may be -1 "
                                      "(or None): what is left. ShapeError where the numbers of elements differ.",
                                      "target_shape"_a);
  bind_named<nn::Permute, std::vector<int>>(m, "Permute", "Axes in this order, counted from 1 (0 is the batch).",
                                            "dims"_a);
  bind_named<nn::RepeatVector, std::int64_t>(m, "RepeatVector", "(features) as (n, features), the same in all steps.",
                                             "n"_a);
  bind_shaped<nn::TimeDistributed, nn::Layer>(m, "TimeDistributed",
                                              "A layer on each step: (steps, ...) becomes (steps, what the layer gives "
                                              "for one). All steps of all samples are one batch for it.",
                                              "layer"_a);
}

void bind_activation_layers(nb::module_& m) {
  bind_named<nn::ActivationLayer, nn::Activation>(
      m, "Activation", "An activation, by name or as a function, as a layer.", "activation"_a);
  LayerClass<nn::Softmax>(m, "Softmax", "exp(x) / sum(exp(x)) along the last axis.")
      .def("__init__", [](Handle<nn::Softmax>* self) { make(self); });
  using ReLU = nn::ReLUOptions;
  bind_layer<nn::ReLU>(
      m, "ReLU",
      "x where x > threshold, at most max_value; negative_slope (x - threshold) else. ValueError for numbers below 0.",
      keywords(std::tuple{OptionalField{"max_value", &ReLU::max_value}, Field{"negative_slope", &ReLU::negative_slope},
                          Field{"threshold", &ReLU::threshold}},
               std::tuple{OptionalField{"name", &ReLU::name}}));
  bind_named<nn::LeakyReLU, double>(m, "LeakyReLU", "x where x > 0, negative_slope x below.", "negative_slope"_a = 0.3);
  bind_named<nn::ELU, double>(m, "ELU", "x where x > 0, alpha (exp(x) - 1) below.", "alpha"_a = 1.0);
  using PReLU = nn::PReLUOptions;
  bind_layer<nn::PReLU>(
      m, "PReLU",
      "x where x > 0, a slope that is learnt times x below; of each place by itself, or one along each of shared_axes, "
      "which are counted with the batch.",
      keywords(std::tuple{Field{"alpha_initializer", &PReLU::alpha_initializer},
                          OptionalField{"alpha_regularizer", &PReLU::alpha_regularizer},
                          OptionalField{"shared_axes", &PReLU::shared_axes}},
               std::tuple{OptionalField{"name", &PReLU::name}}));
}

void bind_merging_layers(nb::module_& m) {
  bind_named<nn::Concatenate, int>(m, "Concatenate",
                                   "Two or more tensors, which have equal sizes along all other axes, one behind "
                                   "another along the axis, which counts the batch as 0.",
                                   "axis"_a = -1);
  bind_named<nn::Add>(m, "Add", "The sum of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Subtract>(m, "Subtract", "The difference of two tensors; sizes of 1 broadcast.");
  bind_named<nn::Multiply>(m, "Multiply", "The product of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Average>(m, "Average", "The mean of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Maximum>(m, "Maximum", "The largest of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Minimum>(m, "Minimum", "The smallest of two or more tensors; sizes of 1 broadcast.");
  bind_layer<nn::Dot, nn::PerAxis>(
      m, "Dot",
      "The sum of products of two tensors along one axis of each, counted with the batch: one number for both, or one "
      "each; what is left of the first stands in front. normalize: vectors of length 1 along the axis are taken.",
      keywords(std::tuple{Field{"normalize", &nn::DotOptions::normalize}},
               std::tuple{OptionalField{"name", &nn::DotOptions::name}}),
      "axes"_a);
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
