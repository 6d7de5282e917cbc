#include "fits.hpp"

#include <stdexcept>
#include <string>

#include "inputs.hpp"

namespace bench {

namespace ct = croton;
namespace nn = ct::nn;
using ct::Array;
using Arrays = std::vector<Array>;

namespace {

nn::Sequential mlp(const Arrays& kernels) {
  nn::Sequential model{
      nn::Dense(128, {.activation = "relu", .kernel_initializer = nn::values_of(kernels[0]), .input_shape = {784}}),
      nn::Dense(10, {.activation = "softmax", .kernel_initializer = nn::values_of(kernels[1])})};
  model.compile({.loss = "sparse_categorical_crossentropy", .optimizer = nn::Adam(), .metrics = {"accuracy"}});
  return model;
}

/// The network of examples/conv_net.cpp without dropout, whose random numbers differ between libraries.
nn::Sequential convnet(const Arrays& kernels) {
  nn::Sequential model{
      nn::Conv2D(16, 3,
                 {.strides = {2},
                  .use_bias = false,
                  .kernel_initializer = nn::values_of(kernels[0]),
                  .input_shape = {28, 28, 1}}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Conv2D(32, 3, {.strides = {2}, .use_bias = false, .kernel_initializer = nn::values_of(kernels[1])}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Flatten(),
      nn::Dense(10, {.kernel_initializer = nn::values_of(kernels[2])})};
  model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .optimizer = nn::Adam(),
                 .metrics = {"accuracy"}});
  return model;
}

nn::Sequential tiny(const Arrays& kernels) {
  nn::Sequential model{nn::Dense(1, {.kernel_initializer = nn::values_of(kernels[0]), .input_shape = {4}})};
  model.compile({.loss = "mse", .optimizer = nn::Adam()});
  return model;
}

nn::Sequential model_of(std::string_view workload, const Arrays& kernels) {
  if (workload == "fit_mlp") return mlp(kernels);
  if (workload == "fit_cnn") return convnet(kernels);
  if (workload == "fit_tiny") return tiny(kernels);
  throw std::invalid_argument("no training is called " + std::string(workload));
}

/// The rows of one batch.
Array part(const Array& array, std::int64_t batch, std::int64_t size) {
  return array.slice(0, batch * size, (batch + 1) * size);
}

}  // namespace

Fit::Fit(std::string_view workload) {
  Arrays inputs;
  for (const Input& input : inputs_of(workload)) inputs.push_back(array_of(input));
  model_ = model_of(workload, inputs);
  x_ = inputs[inputs.size() - 2];
  y_ = inputs.back();
  options_ = {.batch_size = workload == "fit_tiny" ? 1 : 32, .verbose = nn::Verbose::silent};
}

std::vector<Array> Fit::first_steps(int count) {
  nn::FitOptions in_order = options_;
  in_order.shuffle = false;
  std::vector<double> losses, right;
  for (int i = 0; i < count; ++i) {
    const std::int64_t size = options_.batch_size;
    const nn::History history = model_.fit(part(x_, i, size), part(y_, i, size), in_order);
    losses.push_back(history["loss"][0]);
    if (const auto share = history.logs[0].find("accuracy")) right.push_back(*share);
  }
  Arrays results{Array(losses)};
  if (!right.empty()) results.emplace_back(right);
  return results;
}

void Fit::epoch() {
  ++options_.seed;
  model_.fit(x_, y_, options_);
}

}  // namespace bench
