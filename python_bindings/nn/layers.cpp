// The layers of <croton/nn/layers.hpp>, except the recurrent ones.
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
      "recurrent layers and losses skip.",
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
      "Batch normalization: gamma (x - mean) / sqrt(variance + epsilon) + beta, in training with the statistics of the "
      "batch, which update running averages (momentum old + (1 - momentum) new), else with the running averages. axis: "
      "that of the channels, counted with the batch.",
      keywords(
          std::tuple{Field{"axis", &Batch::axis}, Field{"momentum", &Batch::momentum},
                     Field{"epsilon", &Batch::epsilon}, Field{"center", &Batch::center}, Field{"scale", &Batch::scale}},
          std::tuple{OptionalField{"input_shape", &Batch::input_shape}, OptionalField{"name", &Batch::name}}));
  using Layer = nn::LayerNormalizationOptions;
  bind_layer<nn::LayerNormalization>(
      m, "LayerNormalization",
      "Layer normalization: gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of each sample "
      "along the axes, which are counted with the batch.",
      keywords(std::tuple{Field{"axis", &Layer::axes}, Field{"epsilon", &Layer::epsilon},
                          Field{"center", &Layer::center}, Field{"scale", &Layer::scale}},
               std::tuple{OptionalField{"input_shape", &Layer::input_shape}, OptionalField{"name", &Layer::name}}));
  bind_named<nn::GroupNormalization, std::int64_t, double>(
      m, "GroupNormalization",
      "Group normalization: as LayerNormalization, with the statistics of groups of channels (the last axis), and a "
      "gamma and a beta for each channel. ShapeError if the channels do not divide evenly.",
      "groups"_a = nn::GroupNormalization::default_groups, "epsilon"_a = nn::GroupNormalization::default_epsilon);
  bind_named<nn::InstanceNormalization, double>(
      m, "InstanceNormalization", "Instance normalization: as GroupNormalization, with one group for each channel.",
      "epsilon"_a = nn::InstanceNormalization::default_epsilon);
  bind_named<nn::RMSNormalization, double>(
      m, "RMSNormalization", "RMS normalization: x scale / sqrt(mean of x^2 + epsilon) along the last axis.",
      "epsilon"_a = nn::RMSNormalization::default_epsilon);
  bind_named<nn::UnitNormalization, std::vector<int>>(
      m, "UnitNormalization",
      "x divided by its length along the axes, which are counted with the batch; zeros stay zeros.",
      "axis"_a = nn::UnitNormalization::default_axis);
}

void bind_noise(nb::module_& m) {
  bind_named<nn::Dropout, double>(m, "Dropout",
                                  "Dropout: in training each element is set to 0 with probability `rate`, and the "
                                  "others are divided by 1 - rate. ValueError unless 0 <= rate < 1.",
                                  "rate"_a);
  bind_named<nn::SpatialDropout1D, double>(
      m, "SpatialDropout1D", "Dropout of whole channels of (steps, channels): a dropped channel is 0 in all steps.",
      "rate"_a);
  bind_named<nn::SpatialDropout2D, double, nn::Layout>(m, "SpatialDropout2D",
                                                       "Dropout of whole channels of images of two axes.", "rate"_a,
                                                       argument("data_format", nn::default_layout));
  bind_named<nn::SpatialDropout3D, double, nn::Layout>(m, "SpatialDropout3D",
                                                       "Dropout of whole channels of images of three axes.", "rate"_a,
                                                       argument("data_format", nn::default_layout));
  bind_named<nn::GaussianDropout, double>(
      m, "GaussianDropout",
      "In training x times normally distributed numbers with mean 1 and standard deviation sqrt(rate / (1 - rate)).",
      "rate"_a);
  bind_named<nn::GaussianNoise, double>(m, "GaussianNoise",
                                        "In training x plus normally distributed numbers with mean 0.", "stddev"_a);
}

void bind_shapes(nb::module_& m) {
  bind_shaped<nn::Masking, double>(m, "Masking",
                                   "x with a mask: later layers skip steps whose features are all mask_value.",
                                   "mask_value"_a = nn::Masking::default_value);
  bind_shaped<nn::Flatten>(m, "Flatten", "x with all axes but the batch merged into one.");
  bind_shaped<nn::Reshape, nn::Shape>(
      m, "Reshape",
      "The elements of x in another shape, which is given without the batch. One size may be -1 (or None), which is "
      "inferred. ShapeError if the numbers of elements differ.",
      "target_shape"_a);
  bind_named<nn::Permute, std::vector<int>>(
      m, "Permute", "x with its axes in this order, counted from 1 (0 is the batch).", "dims"_a);
  bind_named<nn::RepeatVector, std::int64_t>(m, "RepeatVector",
                                             "x of shape (features) repeated in n steps: (n, features).", "n"_a);
  bind_shaped<nn::TimeDistributed, nn::Layer>(m, "TimeDistributed",
                                              "A layer applied to each step: (steps, ...) becomes (steps, output shape "
                                              "of the layer...). All steps of all samples are one batch for the layer.",
                                              "layer"_a);
}

void bind_activation_layers(nb::module_& m) {
  bind_named<nn::ActivationLayer, nn::Activation>(
      m, "Activation", "An activation as a layer, by name or as a function.", "activation"_a);
  LayerClass<nn::Softmax>(m, "Softmax", "exp(x) / sum(exp(x)) along the last axis.")
      .def("__init__", [](Handle<nn::Softmax>* self) { make(self); });
  using ReLU = nn::ReLUOptions;
  bind_layer<nn::ReLU>(
      m, "ReLU",
      "x where x > threshold, at most max_value; else negative_slope (x - threshold). ValueError for negative numbers.",
      keywords(std::tuple{OptionalField{"max_value", &ReLU::max_value}, Field{"negative_slope", &ReLU::negative_slope},
                          Field{"threshold", &ReLU::threshold}},
               std::tuple{OptionalField{"name", &ReLU::name}}));
  bind_named<nn::LeakyReLU, double>(m, "LeakyReLU", "x where x > 0, negative_slope x below.",
                                    "negative_slope"_a = nn::LeakyReLU::default_negative_slope);
  bind_named<nn::ELU, double>(m, "ELU", "x where x > 0, alpha (exp(x) - 1) below.", "alpha"_a = nn::ELU::default_alpha);
  using PReLU = nn::PReLUOptions;
  bind_layer<nn::PReLU>(m, "PReLU",
                        "x where x > 0, else a learnt slope times x. Each element has its own slope, or shares it "
                        "along shared_axes, which are counted with the batch.",
                        keywords(std::tuple{Field{"alpha_initializer", &PReLU::alpha_initializer},
                                            OptionalField{"alpha_regularizer", &PReLU::alpha_regularizer},
                                            OptionalField{"shared_axes", &PReLU::shared_axes}},
                                 std::tuple{OptionalField{"name", &PReLU::name}}));
}

void bind_merging_layers(nb::module_& m) {
  bind_named<nn::Concatenate, int>(
      m, "Concatenate",
      "The concatenation of two or more tensors along the axis (axis 0 is the batch); their other sizes must be equal.",
      "axis"_a = nn::Concatenate::default_axis);
  bind_named<nn::Add>(m, "Add", "The sum of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Subtract>(m, "Subtract", "The difference of two tensors; sizes of 1 broadcast.");
  bind_named<nn::Multiply>(m, "Multiply", "The product of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Average>(m, "Average", "The mean of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Maximum>(m, "Maximum", "The maximum of two or more tensors; sizes of 1 broadcast.");
  bind_named<nn::Minimum>(m, "Minimum", "The minimum of two or more tensors; sizes of 1 broadcast.");
  bind_layer<nn::Dot, nn::PerAxis>(m, "Dot",
                                   "The sum of products of two tensors along one axis of each, counted with the batch: "
                                   "one number for both, or one for each. The remaining axes of the first come before "
                                   "those of the second. normalize: first divides by the length along the axis.",
                                   keywords(std::tuple{Field{"normalize", &nn::DotOptions::normalize}},
                                            std::tuple{OptionalField{"name", &nn::DotOptions::name}}),
                                   "axes"_a);
  m.def(
      "concatenate", [](const std::vector<nn::Tensor>& x, int axis) { return nn::concatenate(x, axis, here()); },
      "inputs"_a, "axis"_a = nn::Concatenate::default_axis, "The concatenation of a list of tensors along the axis.");
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
