// The layers; those for images are in image_layers.hpp. Names, arguments and initial values are Keras's. A first layer
// may get its `input_shape`, without the batch axis.
#pragma once

#include <croton/nn/image_layers.hpp>
#include <croton/nn/layer.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace croton::nn {

struct DenseOptions {
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  OptionalShape input_shape = {};
  std::string name = {};
};
/// A dense layer: activation(x kernel + bias) along the last axis: kernel (inputs, units), bias (units).
struct Dense : Layer {
  Dense(std::int64_t units, const DenseOptions& options = {}, Where where = std::source_location::current());
};

struct BatchNormalizationOptions {
  int axis = -1;           ///< of the channels, where the batch is axis 0
  double momentum = 0.99;  ///< the factor of the old running averages
  double epsilon = 1e-3;
  bool center = true, scale = true;
  OptionalShape input_shape = {};
  std::string name = {};
};
/// Batch normalisation: gamma (x - mean) / sqrt(variance + epsilon) + beta. In training the statistics are those of the
/// batch, and running averages are updated (moving = momentum moving + (1 - momentum) current, of the biased variance);
/// otherwise the running averages are used.
struct BatchNormalization : Layer {
  explicit BatchNormalization(const BatchNormalizationOptions& options = {},
                              Where where = std::source_location::current());
};

struct LayerNormalizationOptions {
  std::vector<int> axes = {-1};  ///< where the batch is axis 0
  double epsilon = 1e-3;
  bool center = true, scale = true;
  OptionalShape input_shape = {};
  std::string name = {};
};
struct LayerNormalization : Layer {
  explicit LayerNormalization(const LayerNormalizationOptions& options = {},
                              Where where = std::source_location::current());
};
/// Group normalisation, over groups of channels (the last axis), with a gamma and a beta for each channel.
struct GroupNormalization : Layer {
  static constexpr std::int64_t default_groups = 32;
  static constexpr double default_epsilon = 1e-3;
  explicit GroupNormalization(std::int64_t groups = default_groups, double epsilon = default_epsilon,
                              const std::string& name = {}, Where where = std::source_location::current());
};
/// Instance normalisation, over each channel (the last axis): Keras's GroupNormalization(groups=-1).
struct InstanceNormalization : Layer {
  static constexpr double default_epsilon = 1e-3;
  explicit InstanceNormalization(double epsilon = default_epsilon, const std::string& name = {},
                                 Where where = std::source_location::current());
};
/// x scale / sqrt(mean of x^2 + epsilon) along the last axis (Zhang and Sennrich 2019).
struct RMSNormalization : Layer {
  static constexpr double default_epsilon = 1e-6;
  explicit RMSNormalization(double epsilon = default_epsilon, const std::string& name = {},
                            Where where = std::source_location::current());
};
/// x divided by its norm along the axes, where the batch is axis 0; zeros stay zeros.
struct UnitNormalization : Layer {
  static constexpr int default_axis = -1;
  explicit UnitNormalization(const std::vector<int>& axes = {default_axis}, const std::string& name = {},
                             Where where = std::source_location::current());
};

/// In training each element is 0 with probability `rate`, and the others are divided by 1 - rate. No mask is stored.
/// The state of the random numbers is not a parameter: it is in checkpoints, but not in files of weights.
struct Dropout : Layer {
  explicit Dropout(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
/// Dropout of whole channels: a dropped channel is 0 at all positions.
struct SpatialDropout1D : Layer {
  explicit SpatialDropout1D(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
struct SpatialDropout2D : Layer {
  explicit SpatialDropout2D(double rate, Layout layout = default_layout, const std::string& name = {},
                            Where where = std::source_location::current());
};
struct SpatialDropout3D : Layer {
  explicit SpatialDropout3D(double rate, Layout layout = default_layout, const std::string& name = {},
                            Where where = std::source_location::current());
};
/// In training, x times normal numbers of mean 1 and deviation sqrt(rate / (1 - rate)).
struct GaussianDropout : Layer {
  explicit GaussianDropout(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
/// In training, x plus normal numbers.
struct GaussianNoise : Layer {
  explicit GaussianNoise(double deviation, const std::string& name = {}, Where where = std::source_location::current());
};

struct EmbeddingOptions {
  Initializer initializer = "random_uniform";
  Regularizer regularizer = {};
  bool mask_zero = false;  ///< position 0 is padding: it is masked in later layers with steps, and in losses
  OptionalShape input_shape = {};
  std::string name = {};
};
/// Rows of a (rows, width) table at integer positions.
struct Embedding : Layer {
  Embedding(std::int64_t rows, std::int64_t width, const EmbeddingOptions& options = {},
            Where where = std::source_location::current());
};
/// Masks steps all of whose features are `value`, for the following layers.
struct Masking : Layer {
  static constexpr double default_value = 0;
  explicit Masking(double value = default_value, OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};

/// Merges all axes except the batch.
struct Flatten : Layer {
  explicit Flatten(OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// Changes the shape; one size may be any_size, which is inferred.
struct Reshape : Layer {
  explicit Reshape(const Shape& shape, OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// Reorders axes, counted from 1 (0 is the batch).
struct Permute : Layer {
  explicit Permute(const std::vector<int>& order, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// Repeats (features) to (times, features).
struct RepeatVector : Layer {
  explicit RepeatVector(std::int64_t times, const std::string& name = {},
                        Where where = std::source_location::current());
};
/// Applies a layer to each step: (steps, ...) becomes (steps, result for one step...). All steps of all samples are one
/// batch for it, also for batch normalisation and dropout.
struct TimeDistributed : Layer {
  explicit TimeDistributed(const Layer& layer, OptionalShape input_shape = {}, const std::string& name = {},
                           Where where = std::source_location::current());
};
struct ActivationLayer : Layer {
  explicit ActivationLayer(const Activation& activation, const std::string& name = {},
                           Where where = std::source_location::current());
};
struct Softmax : ActivationLayer {
  explicit Softmax(Where where = std::source_location::current()) : ActivationLayer("softmax", {}, where) {}
};
struct ReLUOptions {
  std::optional<double> max_value = {};  ///< the upper bound of results
  double negative_slope = 0;             ///< below the threshold
  double threshold = 0;                  ///< x up to it is below the threshold
  std::string name = {};
};
/// x where x > threshold, at most max_value; otherwise negative_slope (x - threshold). ValueError for negative numbers.
struct ReLU : Layer {
  explicit ReLU(const ReLUOptions& options = {}, Where where = std::source_location::current());
};
/// ReLU with a slope below 0.
struct LeakyReLU : Layer {
  static constexpr double default_negative_slope = 0.3;
  explicit LeakyReLU(double negative_slope = default_negative_slope, const std::string& name = {},
                     Where where = std::source_location::current());
};
/// x where x > 0, otherwise alpha (exp(x) - 1).
struct ELU : Layer {
  static constexpr double default_alpha = 1;
  explicit ELU(double alpha = default_alpha, const std::string& name = {},
               Where where = std::source_location::current());
};
struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  std::vector<int> shared_axes = {};  ///< along which slopes are shared, where the batch is axis 0
  std::string name = {};
};
/// ReLU with a trainable slope below 0, for each position separately.
struct PReLU : Layer {
  explicit PReLU(const PReLUOptions& options = {}, Where where = std::source_location::current());
};
/// A function without weights; `shape` computes the output shape, if the function changes it.
struct Lambda : Layer {
  explicit Lambda(std::function<Variable(const Variable&)> function, std::function<Shape(const Shape&)> shape = {},
                  const std::string& name = {}, Where where = std::source_location::current());
};
/// Joins two or more tensors with equal sizes along all other axes. The batch is axis 0.
struct Concatenate : Layer {
  static constexpr int default_axis = -1;
  explicit Concatenate(int axis = default_axis, const std::string& name = {},
                       Where where = std::source_location::current());
};
/// Elementwise operations on two or more tensors; sizes of 1 broadcast.
struct Add : Layer {
  explicit Add(const std::string& name = {}, Where where = std::source_location::current());
};
struct Subtract : Layer {
  explicit Subtract(const std::string& name = {}, Where where = std::source_location::current());
};
struct Multiply : Layer {
  explicit Multiply(const std::string& name = {}, Where where = std::source_location::current());
};
struct Average : Layer {
  explicit Average(const std::string& name = {}, Where where = std::source_location::current());
};
struct Maximum : Layer {
  explicit Maximum(const std::string& name = {}, Where where = std::source_location::current());
};
struct Minimum : Layer {
  explicit Minimum(const std::string& name = {}, Where where = std::source_location::current());
};
struct DotOptions {
  bool normalize = false;  ///< vectors along the axis are divided by their norm first (zeros stay zeros)
  std::string name = {};
};
/// The sum of products of two tensors along one axis of each (one number for both, or one for each), where the batch is
/// axis 0; the other axes of the first tensor come first.
struct Dot : Layer {
  explicit Dot(const PerAxis& axes, const DotOptions& options = {}, Where where = std::source_location::current());
};
/// Add, Subtract and Multiply of two tensors, with the line of the first one.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor concatenate(const std::vector<Tensor>& x, int axis = Concatenate::default_axis,
                   Where where = std::source_location::current());
Tensor add(const std::vector<Tensor>& x, Where where = std::source_location::current());

struct RecurrentOptions {
  Activation activation = "tanh", recurrent_activation = "sigmoid";
  bool use_bias = true;
  bool return_sequences = false;  ///< all states (batch, time, units) instead of the last one (batch, units)
  bool go_backwards = false;      ///< reads the steps from the last to the first
  double dropout = 0, recurrent_dropout = 0;  ///< of the inputs, and of the states; the same mask in all steps
  bool unit_forget_bias = true;               ///< LSTM: the bias of the forget gate is initialized with 1
  bool reset_after = true;                    ///< GRU: the reset gate is applied after the product
  Initializer kernel_initializer = "glorot_uniform", recurrent_initializer = "orthogonal", bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  OptionalShape input_shape = {};
  std::string name = {};
};
/// h' = activation(x kernel + h recurrent + bias).
struct SimpleRNN : Layer {
  explicit SimpleRNN(std::int64_t units, const RecurrentOptions& options = {},
                     Where where = std::source_location::current());
};
/// Gates z, r, h, concatenated (Cho et al. 2014): h' = z h + (1 - z) activation(...). With reset_after the bias is (2,
/// 3 units).
struct GRU : Layer {
  explicit GRU(std::int64_t units, const RecurrentOptions& options = {}, Where where = std::source_location::current());
};
/// Gates i, f, c, o, concatenated (Hochreiter and Schmidhuber 1997): c' = f c + i activation(...), h' = o
/// activation(c').
struct LSTM : Layer {
  explicit LSTM(std::int64_t units, const RecurrentOptions& options = {},
                Where where = std::source_location::current());
};
/// A recurrent layer forwards, and one with the same options backwards, merged by `merge`: "concat", "sum", "mul" or
/// "ave".
struct Bidirectional : Layer {
  using Make = std::function<Layer(const RecurrentOptions&)>;
  static constexpr const char* default_merge = "concat";
  /// Makes two layers of the kind and options of `layer`, which is not used itself. ValueError if it is not recurrent.
  explicit Bidirectional(const Layer& layer, const std::string& merge = default_merge, const std::string& name = {},
                         Where where = std::source_location::current());
  Bidirectional(const Make& make, const RecurrentOptions& options, const std::string& merge = default_merge,
                const std::string& name = {}, Where where = std::source_location::current());
};

}  // namespace croton::nn
