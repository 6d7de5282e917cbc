// Results of Keras's layers, and the same layers here. The numbers are those of Keras 3.15.1 (jax, on the CPU), as
// printed by this program, where `text` is the first field of a row of the tables:
//
//   def weight(shape, k): return ((7 * np.arange(np.prod(shape)) + 3 * k + 1) % 11 - 5).reshape(shape) / 8
//   def sample(shape, j): return ((5 * np.arange(np.prod(shape)) + 4 * j + 1) % 13 - 6).reshape(shape) / 4
//   def factors(shape): return ((31 * np.arange(np.prod(shape)) + 7) % 101 / 101 - 0.5).reshape(shape)
//   def digest(x): return (x * factors(x.shape)).sum()
//   layer = eval(text)                     # keras.layers.*, floatx float64; inputs of Embedding: abs(4 * sample) % 3
//   for k, w in enumerate(layer.weights): w.assign(weight(w.shape, k) + (w.name == "moving_variance"))
//   y = layer(x), x being sample(shape, j) of the j-th shape
//   g = gradients of digest(y) with respect to each float input and each trained weight
//   print(y.shape, weights' names and shapes, [y.flat[0], digest(y), *map(digest, g)])
//
// Keras computes means in float32, and SimpleRNN with a bias, which needs unroll=True in float64.
#pragma once

#include <croton/nn.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace croton_test {

namespace nn = croton::nn;
using croton::Array;
using croton::DType;
using croton::Sizes;
using Numbers = std::vector<double>;
constexpr nn::Layout first = nn::Layout::channels_first;

// ---- numbers that are equal in C++ and Python ----

template <class F>
inline Array made(const Sizes& shape, F f) {
  Array result = Array::empty(DType::float64, shape);
  for (std::int64_t i = 0; i < result.size(); ++i) result.data<double>()[static_cast<std::size_t>(i)] = f(i);
  return result;
}
inline Array weight_values(const Sizes& shape, std::int64_t k) {
  return made(shape, [k](std::int64_t i) { return static_cast<double>((7 * i + 3 * k + 1) % 11 - 5) / 8; });
}
inline Array sample(const Sizes& shape, std::int64_t j = 0) {
  return made(shape, [j](std::int64_t i) { return static_cast<double>((5 * i + 4 * j + 1) % 13 - 6) / 4; });
}
inline Array positions(const Sizes& shape) {
  const Array x = sample(shape);
  return made(shape,
              [&x](std::int64_t i) { return static_cast<double>(std::lround(std::abs(4 * x.as_double(i))) % 3); })
      .astype(DType::int64);
}
inline Array factors(const Sizes& shape) {
  return made(shape, [](std::int64_t i) { return static_cast<double>((31 * i + 7) % 101) / 101 - 0.5; });
}
inline double digest(const Array& x) {
  const Array by = factors(x.shape());
  double sum = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) sum += x.as_double(i) * by.as_double(i);
  return sum;
}

// ---- the tables ----

struct Case {
  const char* keras;
  nn::Layer layer;
  std::vector<Sizes> inputs;  // with the batch
  const char* output;
  const char* weights;
  Numbers numbers;
};
inline Case row(const char* keras, const nn::Layer& layer, const std::vector<Sizes>& inputs, const char* output,
                const char* weights, const Numbers& numbers) {
  return {keras, layer, inputs, output, weights, numbers};
}

inline nn::Layer chain(const std::vector<nn::Layer>& layers) { return nn::Sequential(layers).layer(); }
inline nn::Layer masked_rows() { return nn::Embedding(7, 3, {.mask_zero = true, .input_shape = {6}}); }

inline nn::Bidirectional::Make simple_rnn(std::int64_t units) {
  return [units](const nn::RecurrentOptions& options) { return nn::SimpleRNN(units, options); };
}
inline nn::Bidirectional::Make gru(std::int64_t units) {
  return [units](const nn::RecurrentOptions& options) { return nn::GRU(units, options); };
}
inline nn::Bidirectional::Make lstm(std::int64_t units) {
  return [units](const nn::RecurrentOptions& options) { return nn::LSTM(units, options); };
}

inline std::vector<Case> elements() {
  return {
      row("Dense(3, activation='relu')", nn::Dense(3, {.activation = "relu"}), {{2, 4}}, "(2, 3)",
          "kernel (4, 3), bias (3,)", {0.90625, 0.1273205446, -0.2496568964, -0.7413488874, 0.02700715616}),
      row("Dense(2)", nn::Dense(2), {{2, 3, 4}}, "(2, 3, 2)", "kernel (4, 2), bias (2,)",
          {0.34375, -0.2993502475, -0.340536467, -0.08056808156, 0.1044505441}),
      row("Dense(3, activation='softmax', use_bias=False)", nn::Dense(3, {.activation = "softmax", .use_bias = false}),
          {{1, 5}}, "(1, 3)", "kernel (5, 3)", {0.697653946, -0.2885979359, -0.06821703269, -0.1125540178}),
      row("Embedding(7, 3)", nn::Embedding(7, 3), {{2, 4}}, "(2, 4, 3)", "embeddings (7, 3)",
          {0.625, -0.2184405941, -0.2740417606}),
      row("Flatten()", nn::Flatten(), {{2, 3, 2}}, "(2, 6)", "", {-1.25, -0.6992574257, 1.019213803}),
      row("Flatten()", nn::Flatten(), {{3}}, "(3, 1)", "", {-1.25, 0.7673267327, 0.234364278}),
      row("Reshape((3, 2))", nn::Reshape({3, 2}), {{2, 6}}, "(2, 3, 2)", "", {-1.25, -0.6992574257, 1.019213803}),
      row("Reshape((-1, 2))", nn::Reshape({nn::any_size, 2}), {{2, 2, 3}}, "(2, 3, 2)", "",
          {-1.25, -0.6992574257, 1.019213803}),
      row("Permute((3, 1, 2))", nn::Permute({3, 1, 2}), {{2, 2, 3, 2}}, "(2, 2, 2, 3)", "",
          {-1.25, 0.9665841584, -0.007842368395}),
      row("Activation('elu')", nn::ActivationLayer("elu"), {{2, 5}}, "(2, 5)", "",
          {-0.7134952031, -0.2103764012, 0.5804326873}),
      row("ReLU()", nn::ReLU(), {{2, 5}}, "(2, 5)", "", {0, -0.07178217822, 0.2643858445}),
      row("Softmax()", nn::Softmax(), {{2, 2, 3}}, "(2, 2, 3)", "", {0.05997779532, -0.2578279957, 0.2638291046}),
      row("Dropout(0.5)", nn::Dropout(0.5), {{2, 3}}, "(2, 3)", "", {-1.25, 0.1423267327, 0.5265660229}),
      row("GaussianNoise(0.5)", nn::GaussianNoise(0.5), {{2, 3}}, "(2, 3)", "", {-1.25, 0.1423267327, 0.5265660229}),
      row("Masking(-1.25)", nn::Masking(-1.25), {{2, 7, 1}}, "(2, 7, 1)", "", {0, -1.048267327, 0.8974610332}),
      row("Concatenate()", nn::Concatenate(), {{2, 3, 1}, {2, 3, 2}, {2, 3, 2}}, "(2, 3, 5)", "",
          {-1.25, 1.763613861, 0.2758553083, 0.5399960788, -0.1330261739}),
      row("Concatenate(axis=1)", nn::Concatenate(1), {{2, 3}, {2, 2}}, "(2, 5)", "",
          {-1.25, 1.050742574, 0.1725811195, -0.01887069895}),
      row("Concatenate(axis=-2)", nn::Concatenate(-2), {{2, 3, 2}, {2, 1, 2}}, "(2, 4, 2)", "",
          {-1.25, 1.206683168, 0.348887364, -0.08160964611}),
      row("Add()", nn::Add(), {{2, 3}, {2, 3}, {2, 1}}, "(2, 3)", "",
          {-0.75, -1.058168317, 0.5265660229, 0.5265660229, 0.1115086756}),
      row("Subtract()", nn::Subtract(), {{2, 3}, {2, 3}}, "(2, 3)", "",
          {-1, 0.5754950495, 0.5265660229, -0.5265660229}),
      row("Multiply()", nn::Multiply(), {{2, 3, 2}, {2, 1, 2}}, "(2, 3, 2)", "",
          {0.3125, -0.06342821782, -0.05063229095, -0.4289346633}),
      row("Average()", nn::Average(), {{2, 3}, {2, 3}, {2, 3}}, "(2, 3)", "",
          {-0.25, 0.1192244224, 0.1755220076, 0.1755220076, 0.1755220076}),
      row("Average()", nn::Average(), {{2, 3}, {2, 1}}, "(2, 3)", "",
          {-0.75, 0.3131188119, 0.2632830115, 0.05575433781}),
      row("Maximum()", nn::Maximum(), {{2, 3}, {2, 3}, {2, 3}}, "(2, 3)", "",
          {0.75, 0.1423267327, 0.03355063229, 0.05651406725, 0.4365013234}),
      row("PReLU()", nn::PReLU(), {{2, 5}}, "(2, 5)", "alpha (5,)",
          {0.625, -0.05631188119, 0.07903943241, -0.3442738457}),
      row("PReLU(shared_axes=[1, 2])", nn::PReLU({.shared_axes = {1, 2}}), {{2, 2, 3, 2}}, "(2, 2, 3, 2)",
          "alpha (1, 1, 2)", {0.625, -1.060488861, 0.7919995589, 0.04641701794}),
      // At a kink jax has the other slope; after these layers there is none.
      row("Sequential([Dense(3), ReLU(max_value=0.75, negative_slope=0.25, threshold=0.4)])",
          chain({nn::Dense(3, {.input_shape = {4}}),
                 nn::ReLU({.max_value = 0.75, .negative_slope = 0.25, .threshold = 0.4})}),
          {{2, 4}}, "(2, 3)", "kernel (4, 3), bias (3,)",
          {0.75, 0.1387066832, -0.005655082835, -0.01025634742, 0.02325752377}),
      row("ReLU(max_value=0.6)", nn::ReLU({.max_value = 0.6}), {{2, 5}}, "(2, 5)", "",
          {0, -0.07797029703, 0.1512106656}),
      row("Sequential([Dense(3), LeakyReLU()])", chain({nn::Dense(3, {.input_shape = {4}}), nn::LeakyReLU()}), {{2, 4}},
          "(2, 3)", "kernel (4, 3), bias (3,)", {0.90625, 0.2135055693, -0.2434369179, -0.7411209685, 0.03913831977}),
      row("ELU(alpha=0.5)", nn::ELU(0.5), {{2, 5}}, "(2, 5)", "", {-0.3567476016, -0.1410792897, 0.4224092659}),
      row("SpatialDropout1D(0.5)", nn::SpatialDropout1D(0.5), {{2, 3, 2}}, "(2, 3, 2)", "",
          {-1.25, -0.6992574257, 1.019213803}),
      row("SpatialDropout2D(0.5, data_format='channels_first')", nn::SpatialDropout2D(0.5, first), {{2, 3, 2, 2}},
          "(2, 3, 2, 2)", "", {-1.25, -1.233910891, 2.097441427}),
      row("SpatialDropout3D(0.5)", nn::SpatialDropout3D(0.5), {{1, 3, 2, 2, 2}}, "(1, 3, 2, 2, 2)", "",
          {-1.25, -1.233910891, 2.097441427}),
      row("GaussianDropout(0.5)", nn::GaussianDropout(0.5), {{2, 3}}, "(2, 3)", "",
          {-1.25, 0.1423267327, 0.5265660229}),
      row("RepeatVector(3)", nn::RepeatVector(3), {{2, 4}}, "(2, 3, 4)", "", {-1.25, 2.247524752, 0.2443387903}),
      row("TimeDistributed(Dense(2, activation='tanh'))", nn::TimeDistributed(nn::Dense(2, {.activation = "tanh"})),
          {{2, 3, 4}}, "(2, 3, 2)", "kernel (4, 2), bias (2,)",
          {0.3308210969, -0.2614609809, -0.292665435, -0.02759870802, 0.1081336425}),
      row("TimeDistributed(Flatten())", nn::TimeDistributed(nn::Flatten()), {{2, 3, 2, 2}}, "(2, 3, 4)", "",
          {-1.25, -1.233910891, 2.097441427}),
      row("Minimum()", nn::Minimum(), {{2, 3}, {2, 3}, {2, 3}}, "(2, 3)", "",
          {-1.25, 0.1386138614, 0.4365013234, 0.03355063229, 0.05651406725}),
      row("Dot(1)", nn::Dot(1), {{2, 3}, {2, 3}}, "(2, 1)", "", {-0.9375, 0.2413366337, 0.11476816, -0.2531308205}),
      row("Dot(axes=(2, 1))", nn::Dot({2, 1}), {{2, 2, 3}, {2, 3, 2}}, "(2, 2, 2)", "",
          {2.1875, -1.261138614, 0.3071880208, 0.05653857465}),
      row("Dot(axes=-1, normalize=True)", nn::Dot(-1, {.normalize = true}), {{2, 2, 3}, {2, 4, 3}}, "(2, 2, 4)", "",
          {-0.3692744729, -0.6076389668, -0.04481486773, -0.379705499})};
}
inline std::vector<Case> convolutions() {
  return {
      row("Conv1D(2, 3)", nn::Conv1D(2, 3), {{2, 6, 2}}, "(2, 4, 2)", "kernel (3, 2, 2), bias (2,)",
          {0.15625, -1.668626238, 0.05405107342, -1.318069307, 0.08636408195}),
      row("Conv1D(2, 3, padding='causal', dilation_rate=2, activation='tanh')",
          nn::Conv1D(2, 3, {.dilations = {2}, .padding = "causal", .activation = "tanh"}), {{2, 6, 2}}, "(2, 6, 2)",
          "kernel (3, 2, 2), bias (2,)", {0.3308210969, -0.1023892388, -0.355228305, -0.7237915854, -0.1251816143}),
      row("Conv1D(2, 2, padding='causal', data_format='channels_first')",
          nn::Conv1D(2, 2, {.padding = "causal", .layout = first}), {{2, 2, 5}}, "(2, 2, 5)",
          "kernel (2, 2, 2), bias (2,)", {-1.375, -0.302134901, 0.1078019312, -0.003590334281, 0.1652288991}),
      row("Conv1D(4, 2, groups=2, data_format='channels_first')", nn::Conv1D(4, 2, {.groups = 2, .layout = first}),
          {{2, 4, 5}}, "(2, 4, 4)", "kernel (2, 2, 4), bias (4,)",
          {0.03125, 0.1567141089, 0.5837785511, -2.134018724, -0.2599745123}),
      row("Conv2D(3, (2, 3), strides=(2, 1), padding='same', activation='relu')",
          nn::Conv2D(3, {2, 3}, {.strides = {2, 1}, .padding = "same", .activation = "relu"}), {{2, 5, 4, 2}},
          "(2, 3, 4, 3)", "kernel (2, 3, 2, 3), bias (3,)",
          {0, 0.1045792079, 0.3811636114, 0.1268931967, -0.5938143319}),
      row("Conv2D(2, 2, dilation_rate=(2, 1), padding='same')",
          nn::Conv2D(2, 2, {.dilations = {2, 1}, .padding = "same"}), {{1, 5, 4, 2}}, "(1, 5, 4, 2)",
          "kernel (2, 2, 2, 2), bias (2,)", {1.125, -1.730971535, 1.354628223, 0.4622708558, -0.02813449662}),
      row("Conv2D(4, 3, groups=2, strides=2, padding='same', use_bias=False)",
          nn::Conv2D(4, 3, {.strides = {2}, .padding = "same", .groups = 2, .use_bias = false}), {{2, 5, 5, 4}},
          "(2, 3, 3, 4)", "kernel (3, 3, 2, 4)", {1.09375, 0.6763613861, -0.7359327517, -1.917961474}),
      row("Conv2D(2, (3, 2), strides=2, padding='same', data_format='channels_first')",
          nn::Conv2D(2, {3, 2}, {.strides = {2}, .padding = "same", .layout = first}), {{2, 3, 5, 4}}, "(2, 2, 3, 2)",
          "kernel (3, 2, 3, 2), bias (2,)", {-3, 0.3217821782, 0.6898772179, -0.8513993726, -0.08910891089}),
      row("Conv2D(3, 1)", nn::Conv2D(3, 1), {{1, 3, 3, 2}}, "(1, 3, 3, 3)", "kernel (1, 1, 2, 3), bias (3,)",
          {0.5, -0.1590346535, -0.4462460788, -1.184436575, -0.7725958239}),
      row("Conv3D(2, (1, 2, 3), strides=(1, 2, 2), padding='same', data_format='channels_first')",
          nn::Conv3D(2, {1, 2, 3}, {.strides = {1, 2, 2}, .padding = "same", .layout = first}), {{1, 2, 3, 3, 4}},
          "(1, 2, 3, 2, 2)", "kernel (1, 2, 3, 2, 2), bias (2,)",
          {0.5, -2.296875, 0.5351466768, -0.7747524752, -0.07391432213}),
      row("Conv2DTranspose(2, 3, strides=2, padding='same', activation='tanh')",
          nn::Conv2DTranspose(2, {3}, {.strides = {2}, .padding = "same", .activation = "tanh"}), {{2, 3, 2, 3}},
          "(2, 6, 4, 2)", "kernel (3, 3, 2, 3), bias (2,)",
          {0.3308210969, 1.865429276, -0.7965251438, 0.06831164763, 0.153186758}),
      row("Conv2DTranspose(2, (2, 3), strides=(3, 2))", nn::Conv2DTranspose(2, {2, 3}, {.strides = {3, 2}}),
          {{1, 3, 2, 2}}, "(1, 9, 5, 2)", "kernel (2, 3, 2, 2), bias (2,)",
          {0.5, -1.546720297, -0.1314515734, 0.8800852858, 0.2645819037}),
      row("Conv2DTranspose(3, 2, strides=3, padding='same', use_bias=False)",
          nn::Conv2DTranspose(3, {2}, {.strides = {3}, .padding = "same", .use_bias = false}), {{1, 2, 3, 2}},
          "(1, 6, 9, 3)", "kernel (2, 2, 3, 2)", {0.625, 1.058787129, -0.08262057641, -1.661638565}),
      row("Conv2DTranspose(2, 4, strides=2, padding='same', data_format='channels_first')",
          nn::Conv2DTranspose(2, {4}, {.strides = {2}, .padding = "same", .layout = first}), {{2, 3, 2, 3}},
          "(2, 2, 4, 6)", "kernel (4, 4, 2, 3), bias (2,)",
          {0.21875, 1.339727723, -0.7966253308, -0.04451769434, -0.01142044898}),
      row("Conv2DTranspose(2, (2, 3), dilation_rate=2, padding='same')",
          nn::Conv2DTranspose(2, {2, 3}, {.dilations = {2}, .padding = "same"}), {{1, 4, 5, 2}}, "(1, 4, 5, 2)",
          "kernel (2, 3, 2, 2), bias (2,)", {0.84375, -2.915532178, -0.01694993138, 1.513699637, -0.02813449662}),
      row("DepthwiseConv2D((2, 3), depth_multiplier=2, strides=2, padding='same', activation='relu')",
          nn::DepthwiseConv2D({2, 3}, 2, {.strides = {2}, .padding = "same", .activation = "relu"}), {{2, 5, 4, 2}},
          "(2, 3, 2, 4)", "kernel (2, 3, 2, 2), bias (4,)",
          {0.25, 1.002475248, -0.2478678561, 0.3696451328, 0.6915498481}),
      row("DepthwiseConv2D(2, depth_multiplier=2, dilation_rate=2, data_format='channels_first')",
          nn::DepthwiseConv2D({2}, 2, {.dilations = {2}, .layout = first}), {{2, 3, 5, 4}}, "(2, 6, 3, 2)",
          "kernel (2, 2, 3, 2), bias (6,)", {1.09375, -3.966738861, 0.1321929223, -0.2520218606, 0.5978335457}),
      row("TimeDistributed(Conv2D(2, 2, strides=2))", nn::TimeDistributed(nn::Conv2D(2, 2, {.strides = 2})),
          {{2, 3, 4, 5, 2}}, "(2, 3, 2, 2, 2)", "kernel (2, 2, 2, 2), bias (2,)",
          {0.84375, -2.735303218, -0.524599304, -2.388086952, -0.09474561318}),
      row("Conv1DTranspose(2, 3, strides=2)", nn::Conv1DTranspose(2, 3, {.strides = 2}), {{2, 4, 2}}, "(2, 9, 2)",
          "kernel (3, 2, 2), bias (2,)", {0.5, 0.1129331683, -0.5117819331, -0.4624056465, -0.1582687972}),
      row("Conv1DTranspose(3, 2, strides=3, padding='same', activation='tanh', data_format='channels_first')",
          nn::Conv1DTranspose(3, 2, {.strides = 3, .padding = "same", .layout = first, .activation = "tanh"}),
          {{2, 2, 4}}, "(2, 3, 12)", "kernel (2, 3, 2), bias (3,)",
          {0.596373558, -0.6611767724, -0.06760168392, -0.3326958916, 0.222890507}),
      row("Conv1DTranspose(2, 3, dilation_rate=2)", nn::Conv1DTranspose(2, 3, {.dilations = 2}), {{1, 4, 2}},
          "(1, 8, 2)", "kernel (3, 2, 2), bias (2,)",
          {0.5, -0.03898514851, -0.546986815, -0.6905450446, 0.08636408195}),
      row("Conv3DTranspose(2, (2, 3, 2), strides=(1, 2, 1), padding='same', use_bias=False)",
          nn::Conv3DTranspose(2, {2, 3, 2}, {.strides = {1, 2, 1}, .padding = "same", .use_bias = false}),
          {{1, 2, 2, 3, 2}}, "(1, 2, 4, 3, 2)", "kernel (2, 3, 2, 2, 2)",
          {0.625, 1.446627475, 0.5206597392, -2.396284678}),
      row("Conv3DTranspose(1, 2, strides=2, data_format='channels_first')",
          nn::Conv3DTranspose(1, 2, {.strides = 2, .layout = first}), {{1, 2, 2, 1, 2}}, "(1, 1, 4, 2, 4)",
          "kernel (2, 2, 2, 1, 2), bias (1,)", {0.6875, -1.243347772, -0.1472282129, -0.7633565337, -0.1961572395}),
      row("DepthwiseConv1D(3, depth_multiplier=2, strides=2, padding='same', activation='relu')",
          nn::DepthwiseConv1D(3, 2, {.strides = 2, .padding = "same", .activation = "relu"}), {{2, 5, 2}}, "(2, 3, 4)",
          "kernel (3, 2, 2), bias (4,)", {0, 0.3180693069, 0.049177164, -0.4244620625, 0.5804823057}),
      row("DepthwiseConv1D(2, data_format='channels_first', dilation_rate=2, use_bias=False)",
          nn::DepthwiseConv1D(2, 1, {.dilations = 2, .layout = first, .use_bias = false}), {{2, 3, 5}}, "(2, 3, 3)",
          "kernel (2, 3, 1)", {-0.15625, -1.259282178, 0.08054357416, -0.2781957651}),
      row("SeparableConv1D(3, 2, strides=2, padding='same', activation='tanh')",
          nn::SeparableConv1D(3, 2, 1, {.strides = 2, .padding = "same", .activation = "tanh"}), {{2, 5, 2}},
          "(2, 3, 3)", "depthwise_kernel (2, 2, 1), pointwise_kernel (1, 2, 3), bias (3,)",
          {0.074082762, 0.2471586321, -0.1291742002, -0.08400105054, -0.10350109, -0.3613919925}),
      row("SeparableConv1D(2, 2, depth_multiplier=2, data_format='channels_first', use_bias=False)",
          nn::SeparableConv1D(2, 2, 2, {.layout = first, .use_bias = false}), {{2, 2, 4}}, "(2, 2, 3)",
          "depthwise_kernel (2, 2, 2), pointwise_kernel (1, 4, 2)",
          {-0.6328125, -0.3650216584, -0.206626495, 0.1219028772, 0.06693430791}),
      row("SeparableConv2D(3, (2, 3), depth_multiplier=2)", nn::SeparableConv2D(3, {2, 3}, 2), {{2, 4, 5, 2}},
          "(2, 3, 3, 3)", "depthwise_kernel (2, 3, 2, 2), pointwise_kernel (1, 1, 4, 3), bias (3,)",
          {-0.2109375, 0.6914642636, -0.9033979512, 2.977396517, 0.3248187984, -0.2868346241}),
      row("SeparableConv2D(2, 3, strides=2, padding='same', data_format='channels_first', activation='relu')",
          nn::SeparableConv2D(2, 3, 1, {.strides = 2, .padding = "same", .layout = first, .activation = "relu"}),
          {{2, 3, 4, 5}}, "(2, 2, 2, 3)", "depthwise_kernel (3, 3, 3, 1), pointwise_kernel (1, 1, 3, 2), bias (2,)",
          {0.67578125, 0.2466158725, -0.2601744008, -0.5394745307, -0.1028269287, -0.1213116361}),
      row("SeparableConv2D(2, 2, dilation_rate=2, padding='same')",
          nn::SeparableConv2D(2, 2, 1, {.dilations = 2, .padding = "same"}), {{1, 4, 3, 2}}, "(1, 4, 3, 2)",
          "depthwise_kernel (2, 2, 2, 1), pointwise_kernel (1, 1, 2, 2), bias (2,)",
          {0.3359375, 0.06609684406, -0.1975419077, -0.4189892535, -0.5266288232, -0.1529261837})};
}
inline std::vector<Case> pools() {
  return {
      row("MaxPooling1D(2)", nn::MaxPooling1D(2), {{2, 7, 2}}, "(2, 3, 2)", "", {1.25, -0.8180693069, -0.2053230075}),
      row("MaxPooling1D(3, strides=1, padding='same')", nn::MaxPooling1D(3, {.strides = {1}, .padding = "same"}),
          {{2, 5, 2}}, "(2, 5, 2)", "", {1.25, -0.9170792079, -0.4233898637}),
      row("MaxPooling1D(2, data_format='channels_first')", nn::MaxPooling1D(2, {.layout = first}), {{2, 2, 7}},
          "(2, 2, 3)", "", {0, 0.06683168317, 0.3236447407}),
      row("MaxPooling2D(2)", nn::MaxPooling2D(), {{2, 5, 3, 2}}, "(2, 2, 1, 2)", "",
          {1.25, -0.3873762376, 0.2678658955}),
      row("MaxPooling2D((2, 3), strides=(1, 2), padding='same')",
          nn::MaxPooling2D({2, 3}, {.strides = {1, 2}, .padding = "same"}), {{2, 5, 4, 2}}, "(2, 5, 2, 2)", "",
          {1.5, -0.7413366337, 0.5523968238}),
      row("MaxPooling2D(3, strides=2, data_format='channels_first')",
          nn::MaxPooling2D({3}, {.strides = {2}, .layout = first}), {{2, 2, 5, 4}}, "(2, 2, 2, 1)", "",
          {1.5, 0.3180693069, 0.01102833056}),
      row("AveragePooling1D(3, strides=2, padding='same')",
          nn::AveragePooling1D(3, {.strides = {2}, .padding = "same"}), {{2, 6, 2}}, "(2, 3, 2)", "",
          {0.1666666667, -0.5090759076, 0.2894405777}),
      row("AveragePooling1D(2, data_format='channels_first')", nn::AveragePooling1D(2, {.layout = first}), {{2, 2, 5}},
          "(2, 2, 2)", "", {-0.625, 0.1943069307, 0.2452455642}),
      row("AveragePooling2D(2)", nn::AveragePooling2D(), {{2, 5, 4, 2}}, "(2, 2, 2, 2)", "",
          {0.125, 1.196782178, 0.1032619351}),
      row("AveragePooling2D((3, 2), strides=(1, 2), padding='same', data_format='channels_first')",
          nn::AveragePooling2D({3, 2}, {.strides = {1, 2}, .padding = "same", .layout = first}), {{2, 2, 5, 3}},
          "(2, 2, 5, 2)", "", {-0.375, -0.8330239274, 0.2508659282}),
      row("GlobalMaxPooling1D()", nn::GlobalMaxPooling1D(), {{2, 5, 2}}, "(2, 2)", "",
          {1.25, 0.2252475248, -0.02524262327}),
      row("GlobalMaxPooling2D()", nn::GlobalMaxPooling2D(), {{2, 3, 2, 2}}, "(2, 2)", "",
          {1.5, 0.1485148515, -0.04489755906}),
      row("GlobalMaxPooling2D(data_format='channels_first')", nn::GlobalMaxPooling2D(first), {{2, 2, 3, 2}}, "(2, 2)",
          "", {1.25, 0.2400990099, -0.1843936869}),
      row("GlobalMaxPooling3D()", nn::GlobalMaxPooling3D(), {{1, 2, 3, 2, 2}}, "(1, 2)", "",
          {1.5, -0.8316831683, 0.2015978826}),
      row("GlobalAveragePooling1D()", nn::GlobalAveragePooling1D(), {{2, 5, 2}}, "(2, 2)", "",
          {-0.150000006, 0.06485148772, -0.01253798532}),
      row("GlobalAveragePooling1D(data_format='channels_first')", nn::GlobalAveragePooling1D(first), {{2, 2, 5}},
          "(2, 2)", "", {-0.05000000075, 0.003465345683, 0.05735711855}),
      row("GlobalAveragePooling2D()", nn::GlobalAveragePooling2D(), {{2, 3, 2, 2}}, "(2, 2)", "",
          {0.125, 0.0307343232, 0.003888506221}),
      row("GlobalAveragePooling3D(data_format='channels_first')", nn::GlobalAveragePooling(first), {{1, 2, 3, 2, 2}},
          "(1, 2)", "", {-0.0625, 0.021761551, -0.006159526895}),
      row("ZeroPadding2D(1)", nn::ZeroPadding2D(), {{2, 2, 3, 2}}, "(2, 4, 5, 2)", "",
          {0, 1.120049505, 0.004901480247}),
      row("ZeroPadding2D((2, 0))", nn::ZeroPadding2D({2, 0}), {{1, 2, 3, 2}}, "(1, 6, 3, 2)", "",
          {0, 1.288366337, -0.2862464464}),
      row("UpSampling2D(2)", nn::UpSampling2D(), {{2, 2, 3, 2}}, "(2, 4, 6, 2)", "",
          {-1.25, -0.06435643564, 0.4422605627}),
      row("UpSampling2D((3, 2), data_format='channels_first')",
          nn::UpSampling2D({3, 2}, nn::Interpolation::nearest, first), {{1, 2, 2, 3}}, "(1, 2, 6, 6)", "",
          {-1.25, -0.9084158416, 0.7844819135}),
      row("UpSampling2D((2, 3), interpolation='bilinear')", nn::UpSampling2D({2, 3}, nn::Interpolation::linear),
          {{1, 3, 2, 2}}, "(1, 6, 6, 2)", "", {-1.25, 1.48040429, -0.1787978303}),
      row("MaxPooling3D(2)", nn::MaxPooling3D(), {{1, 4, 3, 2, 2}}, "(1, 2, 1, 1, 2)", "",
          {1.25, 0.1943069307, -0.09494167239}),
      row("MaxPooling3D((1, 2, 3), strides=(1, 1, 2), padding='same', data_format='channels_first')",
          nn::MaxPooling3D({1, 2, 3}, {.strides = {1, 1, 2}, .padding = "same", .layout = first}), {{1, 2, 2, 3, 4}},
          "(1, 2, 2, 3, 2)", "", {1.25, 0.6868811881, -0.3678560925}),
      row("AveragePooling3D(2)", nn::AveragePooling3D(2), {{1, 4, 3, 2, 2}}, "(1, 2, 1, 1, 2)", "",
          {-0.15625, 0.02521658416, -0.04396015097}),
      row("AveragePooling3D((2, 1, 3), strides=1, padding='same')",
          nn::AveragePooling3D({2, 1, 3}, {.strides = 1, .padding = "same"}), {{1, 3, 2, 4, 2}}, "(1, 3, 2, 4, 2)", "",
          {-0.5625, -0.1100453795, 0.5800779335}),
      row("GlobalAveragePooling3D()", nn::GlobalAveragePooling3D(), {{1, 2, 3, 2, 2}}, "(1, 2)", "",
          {0.04166666791, -0.01021039657, -0.01274384881}),
      row("GlobalMaxPooling3D(data_format='channels_first')", nn::GlobalMaxPooling3D(first), {{1, 2, 3, 2, 2}},
          "(1, 2)", "", {1.5, -0.8316831683, 0.2015978826}),
      row("ZeroPadding1D((1, 2))", nn::ZeroPadding1D({1, 2}), {{2, 3, 2}}, "(2, 6, 2)", "",
          {0, -0.3180693069, -0.4568669738}),
      row("ZeroPadding1D(2, data_format='channels_first')", nn::ZeroPadding1D(2, first), {{2, 2, 3}}, "(2, 2, 7)", "",
          {0, -1.568069307, 0.2001274385}),
      row("ZeroPadding2D(((0, 1), (2, 1)))", nn::ZeroPadding2D({{0, 1}, {2, 1}}), {{1, 2, 3, 2}}, "(1, 3, 6, 2)", "",
          {0, -0.2784653465, 0.5384276051}),
      row("ZeroPadding2D(((0, 1), (2, 1)), data_format='channels_first')", nn::ZeroPadding2D({{0, 1}, {2, 1}}, first),
          {{1, 2, 2, 3}}, "(1, 2, 3, 6)", "", {0, -0.4368811881, -0.4921576316}),
      row("ZeroPadding3D((1, 0, 2))", nn::ZeroPadding3D({1, 0, 2}), {{1, 2, 2, 1, 2}}, "(1, 4, 2, 5, 2)", "",
          {0, -0.2673267327, 0.1078815802}),
      row("ZeroPadding3D(((0, 1), (1, 0), (2, 1)), data_format='channels_first')",
          nn::ZeroPadding3D({{0, 1}, {1, 0}, {2, 1}}, first), {{1, 2, 2, 1, 2}}, "(1, 2, 3, 2, 5)", "",
          {0, -0.06683168317, 0.07759043231}),
      row("Cropping1D((1, 2))", nn::Cropping1D({1, 2}), {{2, 5, 2}}, "(2, 2, 2)", "",
          {1.25, -1.724009901, -0.3266346437}),
      row("Cropping1D(1)", nn::Cropping1D(), {{2, 5, 2}}, "(2, 3, 2)", "", {1.25, 0.3849009901, -0.1182237036}),
      row("Cropping2D(((0, 1), (2, 0)))", nn::Cropping2D({{0, 1}, {2, 0}}), {{1, 3, 4, 2}}, "(1, 2, 2, 2)", "",
          {0.5, -0.2202970297, -0.1893441819}),
      row("Cropping2D((1, 0), data_format='channels_first')", nn::Cropping2D({1, 0}, first), {{1, 2, 4, 3}},
          "(1, 2, 2, 3)", "", {-0.75, -0.1670792079, -0.07308107048}),
      row("Cropping3D(1)", nn::Cropping3D(1), {{1, 3, 4, 3, 2}}, "(1, 1, 2, 1, 2)", "",
          {-0.25, -0.4913366337, -0.3140868542}),
      row("Cropping3D(((0, 1), (1, 0), (0, 0)), data_format='channels_first')",
          nn::Cropping3D({{0, 1}, {1, 0}, {0, 0}}, first), {{1, 2, 2, 3, 2}}, "(1, 2, 1, 2, 2)", "",
          {1.25, -1.408415842, 0.1767473777}),
      row("UpSampling1D(3)", nn::UpSampling1D(3), {{2, 3, 2}}, "(2, 9, 2)", "", {-1.25, 2.399752475, 0.1261641016}),
      row("UpSampling3D((1, 2, 3))", nn::UpSampling3D({1, 2, 3}), {{1, 2, 2, 1, 2}}, "(1, 2, 4, 3, 2)", "",
          {-1.25, 0.3985148515, 0.1629742182}),
      row("UpSampling3D(2, data_format='channels_first')", nn::UpSampling3D(2, nn::Interpolation::nearest, first),
          {{1, 2, 2, 1, 2}}, "(1, 2, 4, 2, 4)", "", {-1.25, 2.311881188, -0.1929712773})};
}
inline std::vector<Case> norms() {
  return {
      row("BatchNormalization()", nn::BatchNormalization(), {{3, 2, 4}}, "(3, 2, 4)",
          "gamma (4,), beta (4,), moving_mean (4,), moving_variance (4,)",
          {0.4631674588, 1.056530083, -0.5107069682, -0.657026488, 0.3819233037}),
      row("BatchNormalization(axis=1, epsilon=0.1)", nn::BatchNormalization({.axis = 1, .epsilon = 0.1}),
          {{2, 3, 2, 2}}, "(2, 3, 2, 2)", "gamma (3,), beta (3,), moving_mean (3,), moving_variance (3,)",
          {0.4460402131, -1.350853635, -0.1281463475, -0.5332546057, -0.1559651246}),
      row("BatchNormalization(center=False, scale=False)", nn::BatchNormalization({.center = false, .scale = false}),
          {{4, 3}}, "(4, 3)", "moving_mean (3,), moving_variance (3,)", {-0.8013259768, -0.2303050134, 1.230614763}),
      row("LayerNormalization()", nn::LayerNormalization(), {{2, 3, 4}}, "(2, 3, 4)", "gamma (4,), beta (4,)",
          {0.4388469756, 0.7609767916, -0.4600041605, -0.5144617463, 0.3819233037}),
      row("LayerNormalization(axis=(1, 2))", nn::LayerNormalization({.axes = {1, 2}}), {{2, 3, 4}}, "(2, 3, 4)",
          "gamma (3, 4), beta (3, 4)", {0.501516819, 0.1958943107, -0.08194834404, -0.05624399039, 0.7329673516}),
      row("LayerNormalization(axis=(1, 3), epsilon=0.1)", nn::LayerNormalization({.axes = {1, 3}, .epsilon = 0.1}),
          {{2, 3, 2, 2}}, "(2, 3, 2, 2)", "gamma (3, 2), beta (3, 2)",
          {0.3218826652, -0.09357457549, -0.2538413515, -0.6967639137, 0.2453680906}),
      row("LayerNormalization(axis=1, scale=False)", nn::LayerNormalization({.axes = {1}, .scale = false}), {{2, 3, 2}},
          "(2, 3, 2)", "beta (3,)", {-1.851831436, 0.1685024361, 0.7209203411, -0.03837859173}),
      row("LayerNormalization(center=False)", nn::LayerNormalization({.center = false}), {{3, 5}}, "(3, 5)",
          "gamma (5,)", {0.6767682433, -0.05212040238, -0.3151344213, 0.1221056291}),
      row("GroupNormalization(2)", nn::GroupNormalization(2), {{2, 3, 4}}, "(2, 3, 4)", "gamma (4,), beta (4,)",
          {0.3570518196, 1.469474061, -0.4824696146, -0.658793077, 0.3819233147}),
      row("GroupNormalization(3, epsilon=0.1)", nn::GroupNormalization(3, 0.1), {{2, 2, 2, 6}}, "(2, 2, 2, 6)",
          "gamma (6,), beta (6,)", {0.3623020649, 0.3701779921, -0.6235013747, 0.2867552809, 0.2979609232}),
      row("GroupNormalization(2)", nn::GroupNormalization(2), {{3, 4}}, "(3, 4)", "gamma (4,), beta (4,)",
          {0.374361217, 0.3604576946, -0.0004549892711, -0.5593921569, 0.341486113}),
      row("GroupNormalization(groups=-1)", nn::InstanceNormalization(), {{2, 3, 2, 2}}, "(2, 3, 2, 2)",
          "gamma (2,), beta (2,)", {0.5305179358, -0.05456067072, -0.1198739136, 0.3149247957, -0.1529261895}),
      row("GroupNormalization(groups=-1, epsilon=0.1)", nn::InstanceNormalization(0.1), {{2, 4, 3}}, "(2, 4, 3)",
          "gamma (3,), beta (3,)", {0.4588742256, -0.5640169124, -0.07544976104, -0.5772201038, -0.6877757228}),
      row("RMSNormalization()", nn::RMSNormalization(), {{2, 3, 4}}, "(2, 3, 4)", "scale (4,)",
          {0.6509441733, 0.9069781018, -0.4599696522, -0.6413732735}),
      row("RMSNormalization(epsilon=0.1)", nn::RMSNormalization(0.1), {{3, 5}}, "(3, 5)", "scale (5,)",
          {0.6634310484, -0.07242175369, -0.3343428736, 0.1563884688}),
      row("UnitNormalization()", nn::UnitNormalization(), {{2, 3, 4}}, "(2, 3, 4)", "",
          {-0.6509445549, -0.6536073646, 0.7009404785}),
      row("UnitNormalization(axis=(1, 2))", nn::UnitNormalization({1, 2}), {{2, 2, 3, 2}}, "(2, 2, 3, 2)", "",
          {-0.4833682445, -0.5967245835, 0.8173730543})};
}
/// After the gradients: the new moving averages.
inline std::vector<Case> norms_in_training() {
  return {row("BatchNormalization()", nn::BatchNormalization(), {{3, 2, 4}}, "(3, 2, 4)",
              "gamma (4,), beta (4,), moving_mean (4,), moving_variance (4,)",
              {0.5006601214, 1.303197096, -0.4450128043, -0.7562550195, 0.3819233037, 0.1013964499, 0.01195588944}),
          row("BatchNormalization(axis=1, epsilon=0.1, momentum=0.5)",
              nn::BatchNormalization({.axis = 1, .momentum = 0.5, .epsilon = 0.1}), {{2, 3, 2, 2}}, "(2, 3, 2, 2)",
              "gamma (3,), beta (3,), moving_mean (3,), moving_variance (3,)",
              {0.4932742119, -1.574144847, -0.1277981531, -0.6343848812, -0.1559651246, 0.05917388614, -0.5232417041}),
          row("BatchNormalization(center=False, scale=False, momentum=0.9)",
              nn::BatchNormalization({.momentum = 0.9, .center = false, .scale = false}), {{4, 3}}, "(4, 3)",
              "moving_mean (3,), moving_variance (3,)",
              {-1.339499354, 0.8135923919, 0.55968411, 0.1356745094, -0.1725266679})};
}
inline std::vector<Case> recurrent() {
  return {
      row("SimpleRNN(3)", nn::SimpleRNN(3), {{2, 4, 2}}, "(2, 3)", "kernel (2, 3), recurrent_kernel (3, 3), bias (3,)",
          {-0.473311305, 0.01281255631, 0.02604321984, -0.1548896251, 0.2349377309, 0.009050470442}),
      row("SimpleRNN(3, return_sequences=True, go_backwards=True, use_bias=False, activation='relu')",
          nn::SimpleRNN(3, {.activation = "relu", .use_bias = false, .return_sequences = true, .go_backwards = true}),
          {{2, 4, 2}}, "(2, 4, 3)", "kernel (2, 3), recurrent_kernel (3, 3)",
          {0, 0.5726977056, -0.03669355093, -0.2378347797, -0.01583418647}),
      row("GRU(3)", nn::GRU(3), {{2, 4, 2}}, "(2, 3)", "kernel (2, 9), recurrent_kernel (3, 9), bias (2, 9)",
          {-0.07059552065, 0.2547540352, -0.02621792685, 0.07088822434, 0.0130215284, 0.01699223535}),
      row("GRU(3, reset_after=False, return_sequences=True)",
          nn::GRU(3, {.return_sequences = true, .reset_after = false}), {{2, 4, 2}}, "(2, 4, 3)",
          "kernel (2, 9), recurrent_kernel (3, 9), bias (9,)",
          {-0.192247026, 0.1944371545, 0.0007744278678, -0.04099475865, -0.0612309905, 0.3908142544}),
      row("GRU(2, use_bias=False, go_backwards=True)", nn::GRU(2, {.use_bias = false, .go_backwards = true}),
          {{1, 5, 3}}, "(1, 2)", "kernel (3, 6), recurrent_kernel (2, 6)",
          {0.00721738949, -0.05818590811, -0.06687554204, 0.12315467, 0.004649645538}),
      row("GRU(2, use_bias=False, reset_after=False)", nn::GRU(2, {.use_bias = false, .reset_after = false}),
          {{2, 3, 3}}, "(2, 2)", "kernel (3, 6), recurrent_kernel (2, 6)",
          {0.1083877641, 0.1337078739, -0.1129701057, 0.2277913121, 0.02321243541}),
      row("LSTM(3)", nn::LSTM(3), {{2, 4, 2}}, "(2, 3)", "kernel (2, 12), recurrent_kernel (3, 12), bias (12,)",
          {-0.002677118367, 0.06988539712, -0.02205785144, 0.06923387222, 0.01689727631, 0.02531512609}),
      row("LSTM(2, return_sequences=True, activation='softsign', recurrent_activation='hard_sigmoid')",
          nn::LSTM(2, {.activation = "softsign", .recurrent_activation = "hard_sigmoid", .return_sequences = true}),
          {{2, 4, 3}}, "(2, 4, 2)", "kernel (3, 8), recurrent_kernel (2, 8), bias (8,)",
          {-0.008964253996, -0.009552912664, -0.005065120561, 0.1102737339, 0.00253159082, 0.00176279715}),
      row("LSTM(2, use_bias=False, go_backwards=True, return_sequences=True)",
          nn::LSTM(2, {.use_bias = false, .return_sequences = true, .go_backwards = true}), {{1, 3, 3}}, "(1, 3, 2)",
          "kernel (3, 8), recurrent_kernel (2, 8)",
          {-0.03974657945, -0.001003641813, -0.005771475173, -0.05995418711, -0.001866148215}),
      row("Bidirectional(LSTM(2))", nn::Bidirectional(lstm(2), {}), {{2, 4, 3}}, "(2, 4)",
          "kernel (3, 8), recurrent_kernel (2, 8), bias (8,), kernel (3, 8), recurrent_kernel (2, 8), bias (8,)",
          {-0.2019798949, 0.03942747563, 0.04130287868, -0.06511230196, -0.01795224793, 0.05177148542, -0.1277181878,
           0.01238074201, -0.0531775999}),
      row("Bidirectional(LSTM(2, return_sequences=True))", nn::Bidirectional(lstm(2), {.return_sequences = true}),
          {{2, 4, 3}}, "(2, 4, 4)",
          "kernel (3, 8), recurrent_kernel (2, 8), bias (8,), kernel (3, 8), recurrent_kernel (2, 8), bias (8,)",
          {-0.007822210605, 0.04639596564, -0.02438108845, 0.1193842678, 0.007978654545, -0.01049248982, -0.08619793564,
           0.01403782789, -0.03609569228}),
      row("Bidirectional(GRU(2, return_sequences=True), merge_mode='sum')",
          nn::Bidirectional(gru(2), {.return_sequences = true}, "sum"), {{2, 4, 3}}, "(2, 4, 2)",
          "kernel (3, 6), recurrent_kernel (2, 6), bias (2, 6), kernel (3, 6), recurrent_kernel (2, 6), bias (2, 6)",
          {-0.6583838677, -0.05144059092, -0.04320187688, -0.07507493108, -0.02391697371, -0.01994987578, -0.15298344,
           0.01945539998, 0.08333409751}),
      row("Bidirectional(SimpleRNN(2), merge_mode='sum')", nn::Bidirectional(simple_rnn(2), {}, "sum"), {{2, 4, 2}},
          "(2, 2)",
          "kernel (2, 2), recurrent_kernel (2, 2), bias (2,), kernel (2, 2), recurrent_kernel (2, 2), bias (2,)",
          {-0.385327816, -0.3370219243, 0.1503720781, 0.02060731862, 0.01624256432, 0.08421756738, 0.02682706889,
           0.06677732183, -0.02326901891}),
      row("TimeDistributed(LSTM(2))", nn::TimeDistributed(nn::LSTM(2)), {{2, 2, 3, 2}}, "(2, 2, 2)",
          "kernel (2, 8), recurrent_kernel (2, 8), bias (8,)",
          {-0.5302555499, 0.1721858583, -0.01160713779, 0.09885968603, 0.005420322596, -0.006065164032}),
      row("Bidirectional(LSTM(2), merge_mode='mul')", nn::Bidirectional(lstm(2), {}, "mul"), {{2, 4, 3}}, "(2, 2)",
          "kernel (3, 8), recurrent_kernel (2, 8), bias (8,), kernel (3, 8), recurrent_kernel (2, 8), bias (8,)",
          {0.04960709865, -0.01027509187, -0.01294899479, 0.02930234718, 0.003136222352, -0.007762294781, 0.03397175303,
           -0.001168573465, 0.0001476931909}),
      row("Bidirectional(GRU(2, return_sequences=True), merge_mode='ave')",
          nn::Bidirectional(gru(2), {.return_sequences = true}, "ave"), {{2, 4, 3}}, "(2, 4, 2)",
          "kernel (3, 6), recurrent_kernel (2, 6), bias (2, 6), kernel (3, 6), recurrent_kernel (2, 6), bias (2, 6)",
          {-0.3291919338, -0.02572029546, -0.02160093844, -0.03753746554, -0.01195848686, -0.009974937892, -0.07649172,
           0.009727699989, 0.04166704875})};
}
inline std::vector<Case> masked() {
  return {
      row("Sequential([Embedding(7, 3, mask_zero=True), LSTM(2)])", chain({masked_rows(), nn::LSTM(2)}), {{3, 6}},
          "(3, 2)", "embeddings (7, 3), kernel (3, 8), recurrent_kernel (2, 8), bias (8,)",
          {0.2311730498, -0.3553185522, -0.02295895277, 0.004948963975, 0.02870465488, 0.01844221106}),
      row("Sequential([Embedding(7, 3, mask_zero=True), GRU(2, return_sequences=True)])",
          chain({masked_rows(), nn::GRU(2, {.return_sequences = true})}), {{3, 6}}, "(3, 6, 2)",
          "embeddings (7, 3), kernel (3, 6), recurrent_kernel (2, 6), bias (2, 6)",
          {0.0745992876, -0.07351022307, 0.08715308977, 0.1059878797, 0.01542600217, 0.03907361545}),
      row("Sequential([Embedding(7, 3, mask_zero=True), SimpleRNN(2, go_backwards=True)])",
          chain({masked_rows(), nn::SimpleRNN(2, {.go_backwards = true})}), {{3, 6}}, "(3, 2)",
          "embeddings (7, 3), kernel (3, 2), recurrent_kernel (2, 2), bias (2,)",
          {0.1243919581, 0.194461027, 0.02958173333, 0.2498227149, 0.2235461663, 0.2936690387}),
      row("Sequential([Embedding(7, 3, mask_zero=True), Bidirectional(LSTM(2, return_sequences=True)), "
          "GlobalAveragePooling1D()])",
          chain({masked_rows(), nn::Bidirectional(lstm(2), {.return_sequences = true}), nn::GlobalAveragePooling1D()}),
          {{3, 6}}, "(3, 4)",
          "embeddings (7, 3), kernel (3, 8), recurrent_kernel (2, 8), bias (8,), kernel (3, 8), recurrent_kernel (2, "
          "8), bias (8,)",
          {0.1959819124, -0.1784834732, -0.04862165436, -0.02445373092, 0.01236094113, 0.0516837361, 0.03346005601,
           0.006449084905, -0.01793277478}),
      row("Sequential([Embedding(7, 3, mask_zero=True), Dense(2, activation='tanh'), LayerNormalization(), "
          "Dropout(0.5), Activation('tanh'), GlobalAveragePooling1D()])",
          chain({masked_rows(), nn::Dense(2, {.activation = "tanh"}), nn::LayerNormalization(), nn::Dropout(0.5),
                 nn::ActivationLayer("tanh"), nn::GlobalAveragePooling1D()}),
          {{3, 6}}, "(3, 2)", "embeddings (7, 3), kernel (3, 2), bias (2,), gamma (2,), beta (2,)",
          {0.2415108085, 0.05786887434, 0.004815770813, 0.005219913819, -0.004509238479, 0.2319371177, 0.1313603273}),
      row("Sequential([Masking(-1.25), LSTM(2)])", chain({nn::Masking(-1.25, {7, 1}), nn::LSTM(2)}), {{2, 7, 1}},
          "(2, 2)", "kernel (1, 8), recurrent_kernel (2, 8), bias (8,)",
          {-0.3527388771, 0.1254398205, 0.007683653059, -0.02004648739, -0.01435077093, 0.03481818122}),
      row("Sequential([Masking(-1.25), GRU(2, return_sequences=True, reset_after=False)])",
          chain({nn::Masking(-1.25, {7, 1}), nn::GRU(2, {.return_sequences = true, .reset_after = false})}),
          {{2, 7, 1}}, "(2, 7, 2)", "kernel (1, 6), recurrent_kernel (2, 6), bias (6,)",
          {0, -0.2612077637, 0.03876975384, 0.1715482071, 0.01890800154, -0.005813072268})};
}

}  // namespace croton_test
