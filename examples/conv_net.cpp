// A convolutional network with batch normalisation reads the digits; training is stopped in the middle and continued
// from a file with the same bits. Exits with 0 if the bits agree, and it reads at least 97 of 100 digits.
#include <croton/nn.hpp>

#include <iostream>

#include "digits_split.hpp"

namespace ct = croton;
namespace nn = croton::nn;

namespace {

constexpr int side = 28, epochs = 6;

nn::Sequential make() {
  nn::set_seed(1);
  nn::Sequential model{
      nn::Conv2D(16, 3, {.strides = {2}, .padding = "same", .use_bias = false, .input_shape = {side, side, 1}}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Conv2D(32, 3, {.strides = {2}, .padding = "same", .use_bias = false}),
      nn::BatchNormalization({.momentum = 0.9}),
      nn::ReLU(),
      nn::Flatten(),
      nn::Dropout(0.3),
      nn::Dense(10)};
  model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .optimizer = nn::Adam({.learning_rate = 2e-3}),
                 .metrics = {"accuracy"}});
  return model;
}

}  // namespace

int main() {
  const digits::Split data = digits::load(side);
  const ct::Array x = digits::as_images(data.train_x, side), test = digits::as_images(data.test_x, side);
  nn::Sequential whole = make(), begun = make(), resumed = make();
  std::cout << whole.summary();
  nn::FitOptions options{.epochs = epochs, .batch_size = 64, .validation_data = std::pair{test, data.test_y}};
  whole.fit(x, data.train_y, options);

  options.epochs = epochs / 2;
  options.verbose = nn::Verbose::silent;
  begun.fit(x, data.train_y, options);
  begun.save_checkpoint("conv_net.safetensors");
  resumed.load_checkpoint("conv_net.safetensors");
  options.epochs = epochs;
  resumed.fit(x, data.train_y, options);

  bool same = true;
  const std::vector<ct::Array> a = whole.get_weights(), b = resumed.get_weights();
  for (std::size_t i = 0; i < a.size(); ++i) same = same && a[i].same_bits(b[i]);
  std::cout << "Resumed after epoch " << epochs / 2 << ": " << (same ? "the same bits" : "OTHER weights") << "\n";
  const nn::Logs logs = resumed.evaluate(test, data.test_y);
  std::cout << "Of the digits held out: " << logs << "\n";
  return same && logs["accuracy"] >= 0.97 ? 0 : 1;
}
