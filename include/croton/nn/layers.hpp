// The layers, those of images in a header of their own. Names, arguments and first values are Keras's. A first layer
// may be told its `input_shape`, without the batch.
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
/// activation(x kernel + bias) along the last axis: kernel (inputs, units), bias (units).
struct Dense : Layer {
  Dense(std::int64_t units, const DenseOptions& options = {}, Where where = std::source_location::current());
};

struct BatchNormalizationOptions {
  int axis = -1;           ///< of the channels, counted with the batch (which is axis 0)
  double momentum = 0.99;  ///< what is kept of the running averages
  double epsilon = 1e-3;
  bool center = true, scale = true;
  OptionalShape input_shape = {};
  std::string name = {};
};
/// gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of the batch in training (running averages
/// follow: moving = momentum moving + (1 - momentum) now, of the biased variance) and the running ones else.
struct BatchNormalization : Layer {
  explicit BatchNormalization(const BatchNormalizationOptions& options = {},
                              Where where = std::source_location::current());
};

struct LayerNormalizationOptions {
  std::vector<int> axes = {-1};  ///< counted with the batch
  double epsilon = 1e-3;
  bool center = true, scale = true;
  OptionalShape input_shape = {};
  std::string name = {};
};
struct LayerNormalization : Layer {
  explicit LayerNormalization(const LayerNormalizationOptions& options = {},
                              Where where = std::source_location::current());
};
/// Of groups of the channels (the last axis), with a gamma and a beta for each channel.
struct GroupNormalization : Layer {
  explicit GroupNormalization(std::int64_t groups = 32, double epsilon = 1e-3, const std::string& name = {},
                              Where where = std::source_location::current());
};
/// Of each channel (the last axis) by itself: Keras's GroupNormalization(groups=-1).
struct InstanceNormalization : Layer {
  explicit InstanceNormalization(double epsilon = 1e-3, const std::string& name = {},
                                 Where where = std::source_location::current());
};
/// x scale / sqrt(mean of x^2 + epsilon) along the last axis (Zhang and Sennrich 2019).
struct RMSNormalization : Layer {
  explicit RMSNormalization(double epsilon = 1e-6, const std::string& name = {},
                            Where where = std::source_location::current());
};
/// x divided by its length along the axes, which are counted with the batch; zeros stay zeros.
struct UnitNormalization : Layer {
  explicit UnitNormalization(const std::vector<int>& axes = {-1}, const std::string& name = {},
                             Where where = std::source_location::current());
};

/// In training each element is 0 with probability `rate`, and the others are divided by 1 - rate. No mask is stored.
/// The state of the numbers drawn is no parameter: checkpoints have it, files of weights have not.
struct Dropout : Layer {
  explicit Dropout(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
/// The same of whole channels: what is dropped is 0 at all places.
struct SpatialDropout1D : Layer {
  explicit SpatialDropout1D(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
struct SpatialDropout2D : Layer {
  explicit SpatialDropout2D(double rate, Layout layout = Layout::channels_last, const std::string& name = {},
                            Where where = std::source_location::current());
};
struct SpatialDropout3D : Layer {
  explicit SpatialDropout3D(double rate, Layout layout = Layout::channels_last, const std::string& name = {},
                            Where where = std::source_location::current());
};
/// x times normal numbers around 1 in training, whose deviation is sqrt(rate / (1 - rate)).
struct GaussianDropout : Layer {
  explicit GaussianDropout(double rate, const std::string& name = {}, Where where = std::source_location::current());
};
/// x plus normal numbers in training.
struct GaussianNoise : Layer {
  explicit GaussianNoise(double deviation, const std::string& name = {}, Where where = std::source_location::current());
};

struct EmbeddingOptions {
  Initializer initializer = "random_uniform";
  Regularizer regularizer = {};
  bool mask_zero = false;  ///< position 0 is padding: later layers with steps, and losses, leave it out
  OptionalShape input_shape = {};
  std::string name = {};
};
/// Rows of a (rows, width) table at integer positions.
struct Embedding : Layer {
  Embedding(std::int64_t rows, std::int64_t width, const EmbeddingOptions& options = {},
            Where where = std::source_location::current());
};
/// Steps all of whose features are `value` do not count for the layers behind.
struct Masking : Layer {
  explicit Masking(double value = 0, OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};

/// All axes but the batch as one.
struct Flatten : Layer {
  explicit Flatten(OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// One size may be any_size: what is left.
struct Reshape : Layer {
  explicit Reshape(const Shape& shape, OptionalShape input_shape = {}, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// Axes in this order, counted from 1 (0 is the batch).
struct Permute : Layer {
  explicit Permute(const std::vector<int>& order, const std::string& name = {},
                   Where where = std::source_location::current());
};
/// (features) as (times, features), the same in all steps.
struct RepeatVector : Layer {
  explicit RepeatVector(std::int64_t times, const std::string& name = {},
                        Where where = std::source_location::current());
};
/// A layer on each step: (steps, ...) becomes (steps, what the layer gives for one). All steps of all samples are one
/// batch for it, as batch normalisation and dropout see it.
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
  std::optional<double> max_value = {};  ///< nothing above it
  double negative_slope = 0;             ///< below the threshold
  double threshold = 0;                  ///< up to which x counts as below
  std::string name = {};
};
/// x where x > threshold, at most max_value; negative_slope (x - threshold) else. ValueError for numbers below 0.
struct ReLU : Layer {
  explicit ReLU(const ReLUOptions& options = {}, Where where = std::source_location::current());
};
/// ReLU with a slope below 0.
struct LeakyReLU : Layer {
  explicit LeakyReLU(double negative_slope = 0.3, const std::string& name = {},
                     Where where = std::source_location::current());
};
/// x where x > 0, alpha (exp(x) - 1) below.
struct ELU : Layer {
  explicit ELU(double alpha = 1, const std::string& name = {}, Where where = std::source_location::current());
};
struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  std::vector<int> shared_axes = {};  ///< along which there is one slope; counted with the batch
  std::string name = {};
};
/// A slope below 0 that is learnt, of each place by itself.
struct PReLU : Layer {
  explicit PReLU(const PReLUOptions& options = {}, Where where = std::source_location::current());
};
/// A function without weights; `shape` tells the sizes that it gives, if it changes them.
struct Lambda : Layer {
  explicit Lambda(std::function<Variable(const Variable&)> function, std::function<Shape(const Shape&)> shape = {},
                  const std::string& name = {}, Where where = std::source_location::current());
};
/// Of two or more tensors that have equal sizes along all other axes. `axis` counts the batch as 0.
struct Concatenate : Layer {
  explicit Concatenate(int axis = -1, const std::string& name = {}, Where where = std::source_location::current());
};
/// Elementwise, of two or more; sizes of 1 broadcast.
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
  bool normalize = false;  ///< vectors of length 1 along the axis are taken (zeros stay zeros)
  std::string name = {};
};
/// The sum of products of two along one axis of each, counted with the batch (one number for both, or one each); what
/// is left of the first stands in front.
struct Dot : Layer {
  explicit Dot(const PerAxis& axes, const DotOptions& options = {}, Where where = std::source_location::current());
};
/// Add, Subtract and Multiply of two, said to come from where the first one does.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor concatenate(const std::vector<Tensor>& x, int axis = -1, Where where = std::source_location::current());
Tensor add(const std::vector<Tensor>& x, Where where = std::source_location::current());

struct RecurrentOptions {
  Activation activation = "tanh", recurrent_activation = "sigmoid";
  bool use_bias = true;
  bool return_sequences = false;  ///< all states (batch, time, units) in place of the last one (batch, units)
  bool go_backwards = false;      ///< reads the steps from the last to the first
  double dropout = 0, recurrent_dropout = 0;  ///< of what comes in, and of the states; the same mask in all steps
  bool unit_forget_bias = true;               ///< LSTM: the bias of the forget gate begins with 1
  bool reset_after = true;                    ///< GRU: the reset gate acts behind the product
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
/// Gates z, r, h side by side (Cho et al. 2014): h' = z h + (1 - z) activation(...). With reset_after the bias is (2, 3
/// units).
struct GRU : Layer {
  explicit GRU(std::int64_t units, const RecurrentOptions& options = {}, Where where = std::source_location::current());
};
/// Gates i, f, c, o side by side (Hochreiter and Schmidhuber 1997): c' = f c + i activation(...), h' = o
/// activation(c').
struct LSTM : Layer {
  explicit LSTM(std::int64_t units, const RecurrentOptions& options = {},
                Where where = std::source_location::current());
};
/// A recurrent layer forwards, and one of the same options backwards, put together by `merge`:
/// side by side ("concat"), "sum", "mul" or "ave".
struct Bidirectional : Layer {
  using Make = std::function<Layer(const RecurrentOptions&)>;
  /// Two of the kind and options of the layer, which is not used itself. ValueError for one that is not recurrent.
  explicit Bidirectional(const Layer& layer, const std::string& merge = "concat", const std::string& name = {},
                         Where where = std::source_location::current());
  Bidirectional(const Make& make, const RecurrentOptions& options, const std::string& merge = "concat",
                const std::string& name = {}, Where where = std::source_location::current());
};

}  // namespace croton::nn
