// The layers. Names, arguments and first values are Keras's: images are (sizes..., channels) unless said otherwise,
// convolutions are cross-correlations. A first layer may be told its `input_shape`, without the batch.
#pragma once

#include <croton/convolution.hpp>
#include <croton/layers.hpp>
#include <croton/nn/layer.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace croton::nn {

using nnet::Interpolation;
using nnet::Layout;

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
  Dense(std::int64_t units, const DenseOptions& options = {});
};

struct ConvLayerOptions {
  std::vector<std::int64_t> strides = {}, dilations = {};  ///< one for all axes, or one each; 1 if empty
  std::string padding = "valid";                           ///< "valid", "same"; Conv1D: "causal"
  std::int64_t groups = 1;
  Layout layout = Layout::channels_last;
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform", bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  OptionalShape input_shape = {};
  std::string name = {};
};
/// activation(cross-correlation with the kernel + bias). The kernel is (window..., channels / groups, filters) in both
/// layouts, as Keras's. `window`: one size for all axes, or one each.
struct Conv1D : Layer {
  Conv1D(std::int64_t filters, const std::vector<std::int64_t>& window, const ConvLayerOptions& options = {});
  Conv1D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options = {});
};
struct Conv2D : Layer {
  Conv2D(std::int64_t filters, const std::vector<std::int64_t>& window, const ConvLayerOptions& options = {});
  Conv2D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options = {});
};
struct Conv3D : Layer {
  Conv3D(std::int64_t filters, const std::vector<std::int64_t>& window, const ConvLayerOptions& options = {});
  Conv3D(std::int64_t filters, std::int64_t window, const ConvLayerOptions& options = {});
};
/// The transposed convolution: sizes grow by the strides. The kernel is (window..., filters, channels).
struct Conv2DTranspose : Layer {
  Conv2DTranspose(std::int64_t filters, const std::vector<std::int64_t>& window, const ConvLayerOptions& options = {});
};
/// Each channel by itself with `multiplier` filters: the kernel is (window..., channels, multiplier), the result has
/// channels times multiplier channels.
struct DepthwiseConv2D : Layer {
  DepthwiseConv2D(const std::vector<std::int64_t>& window, std::int64_t multiplier = 1,
                  const ConvLayerOptions& options = {});
};

struct PoolLayerOptions {
  std::vector<std::int64_t> strides = {};  ///< the window's sizes if empty
  std::string padding = "valid";           ///< "valid", "same" (which counts nothing outside)
  Layout layout = Layout::channels_last;
  OptionalShape input_shape = {};
  std::string name = {};
};
/// Of ties the first has the gradient.
struct MaxPooling1D : Layer {
  explicit MaxPooling1D(std::int64_t window = 2, const PoolLayerOptions& options = {});
};
struct MaxPooling2D : Layer {
  explicit MaxPooling2D(const std::vector<std::int64_t>& window = {2}, const PoolLayerOptions& options = {});
};
struct AveragePooling1D : Layer {
  explicit AveragePooling1D(std::int64_t window = 2, const PoolLayerOptions& options = {});
};
struct AveragePooling2D : Layer {
  explicit AveragePooling2D(const std::vector<std::int64_t>& window = {2}, const PoolLayerOptions& options = {});
};
/// Over all places: (sizes..., channels) becomes (channels). Any number of axes of sizes. Of equal maxima the first has
/// the gradient.
struct GlobalMaxPooling : Layer {
  explicit GlobalMaxPooling(Layout layout = Layout::channels_last, const std::string& name = {},
                            const std::string& type = "GlobalMaxPooling", int axes = 0);
};
struct GlobalAveragePooling : Layer {
  explicit GlobalAveragePooling(Layout layout = Layout::channels_last, const std::string& name = {},
                                const std::string& type = "GlobalAveragePooling", int axes = 0);
};
/// The same of images of 1 or 2 axes (ShapeError for others), under Keras's names.
struct GlobalMaxPooling1D : GlobalMaxPooling {
  explicit GlobalMaxPooling1D(Layout layout = Layout::channels_last, const std::string& name = {})
      : GlobalMaxPooling(layout, name, "GlobalMaxPooling1D", 1) {}
};
struct GlobalMaxPooling2D : GlobalMaxPooling {
  explicit GlobalMaxPooling2D(Layout layout = Layout::channels_last, const std::string& name = {})
      : GlobalMaxPooling(layout, name, "GlobalMaxPooling2D", 2) {}
};
struct GlobalAveragePooling1D : GlobalAveragePooling {
  explicit GlobalAveragePooling1D(Layout layout = Layout::channels_last, const std::string& name = {})
      : GlobalAveragePooling(layout, name, "GlobalAveragePooling1D", 1) {}
};
struct GlobalAveragePooling2D : GlobalAveragePooling {
  explicit GlobalAveragePooling2D(Layout layout = Layout::channels_last, const std::string& name = {})
      : GlobalAveragePooling(layout, name, "GlobalAveragePooling2D", 2) {}
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
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

struct LayerNormalizationOptions {
  std::vector<int> axes = {-1};  ///< counted with the batch
  double epsilon = 1e-3;
  bool center = true, scale = true;
  OptionalShape input_shape = {};
  std::string name = {};
};
struct LayerNormalization : Layer {
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};
/// Of groups of the channels (the last axis), with a gamma and a beta for each channel.
struct GroupNormalization : Layer {
  explicit GroupNormalization(std::int64_t groups = 32, double epsilon = 1e-3, const std::string& name = {});
};

/// In training each element is 0 with probability `rate`, and the others are divided by 1 - rate. No mask is stored.
/// The state of the numbers drawn is a weight that is not trained.
struct Dropout : Layer {
  explicit Dropout(double rate, const std::string& name = {});
};
/// x plus normal numbers in training.
struct GaussianNoise : Layer {
  explicit GaussianNoise(double deviation, const std::string& name = {});
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
  Embedding(std::int64_t rows, std::int64_t width, const EmbeddingOptions& options = {});
};
/// Steps all of whose features are `value` do not count for the layers behind.
struct Masking : Layer {
  explicit Masking(double value = 0, OptionalShape input_shape = {}, const std::string& name = {});
};

/// All axes but the batch as one.
struct Flatten : Layer {
  explicit Flatten(OptionalShape input_shape = {}, const std::string& name = {});
};
/// One size may be any_size: what is left.
struct Reshape : Layer {
  explicit Reshape(const Shape& shape, OptionalShape input_shape = {}, const std::string& name = {});
};
/// Axes in this order, counted from 1 (0 is the batch).
struct Permute : Layer {
  explicit Permute(const std::vector<int>& order, const std::string& name = {});
};
struct ActivationLayer : Layer {
  explicit ActivationLayer(const Activation& activation, const std::string& name = {});
};
struct ReLU : ActivationLayer {
  ReLU() : ActivationLayer("relu") {}
};
struct Softmax : ActivationLayer {
  Softmax() : ActivationLayer("softmax") {}
};
/// A function without weights; `shape` tells the sizes that it gives, if it changes them.
struct Lambda : Layer {
  explicit Lambda(std::function<Variable(const Variable&)> function, std::function<Shape(const Shape&)> shape = {},
                  const std::string& name = {});
};
/// Zeros around images: the same on both sides of each axis.
struct ZeroPadding2D : Layer {
  explicit ZeroPadding2D(const std::vector<std::int64_t>& widths = {1}, const std::string& name = {});
};
struct UpSampling2D : Layer {
  explicit UpSampling2D(const std::vector<std::int64_t>& factors = {2},
                        Interpolation interpolation = Interpolation::nearest, Layout layout = Layout::channels_last,
                        const std::string& name = {});
};

/// Of two or more tensors that have equal sizes along all other axes. `axis` counts the batch as 0.
struct Concatenate : Layer {
  explicit Concatenate(int axis = -1, const std::string& name = {});
};
/// Elementwise, of two or more; sizes of 1 broadcast.
struct Add : Layer {
  explicit Add(const std::string& name = {});
};
struct Subtract : Layer {
  explicit Subtract(const std::string& name = {});
};
struct Multiply : Layer {
  explicit Multiply(const std::string& name = {});
};
struct Average : Layer {
  explicit Average(const std::string& name = {});
};
struct Maximum : Layer {
  explicit Maximum(const std::string& name = {});
};
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
  explicit SimpleRNN(std::int64_t units, const RecurrentOptions& options = {});
};
/// Gates z, r, h side by side (Cho et al. 2014): h' = z h + (1 - z) activation(...). With reset_after the bias is (2, 3
/// units).
struct GRU : Layer {
  explicit GRU(std::int64_t units, const RecurrentOptions& options = {});
};
/// Gates i, f, c, o side by side (Hochreiter and Schmidhuber 1997): c' = f c + i activation(...), h' = o
/// activation(c').
struct LSTM : Layer {
  explicit LSTM(std::int64_t units, const RecurrentOptions& options = {});
};
/// A recurrent layer forwards, and one of the same options backwards, side by side (concat) or added ("sum").
struct Bidirectional : Layer {
  using Make = std::function<Layer(const RecurrentOptions&)>;
  Bidirectional(const Make& make, const RecurrentOptions& options, const std::string& merge = "concat",
                const std::string& name = {});
};

}  // namespace croton::nn
