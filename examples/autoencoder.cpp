// An autoencoder: it encodes digits of 64 pixels as 16 numbers and decodes them. Encoder and decoder are separate
// models, shared by the whole model. Exits with 0 if the decoded images explain at least 85 % of the variance of
// held-out images.
#include <croton/nn.hpp>

#include <iostream>

#include "digits_split.hpp"

namespace ct = croton;
namespace nn = croton::nn;

int main() {
  nn::set_seed(1);
  const digits::Split data = digits::load(8);
  const nn::Sequential encoder({nn::Dense(64, {.activation = "relu", .input_shape = {64}}), nn::Dense(16)}, "encoder");
  const nn::Sequential decoder(
      {nn::Dense(64, {.activation = "relu", .input_shape = {16}}), nn::Dense(64, {.activation = "sigmoid"})},
      "decoder");
  const nn::Tensor image = nn::Input({64}, {.name = "image"});
  nn::Model model(image, decoder(encoder(image)), "autoencoder");
  std::cout << model.summary();
  model.compile({.loss = "mse", .optimizer = nn::Adam({.learning_rate = 3e-3})});
  model.fit(data.train_x, data.train_x, {.epochs = 30, .validation_data = std::pair{data.test_x, data.test_x}});

  double mean = 0, variance = 0;
  const std::int64_t count = data.test_x.size();
  const ct::Array pixels = data.test_x.copy();
  for (std::int64_t i = 0; i < count; ++i) mean += pixels.as_double(i) / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i)
    variance += (pixels.as_double(i) - mean) * (pixels.as_double(i) - mean) / static_cast<double>(count);
  const double explained = 1 - model.evaluate(data.test_x, data.test_x)["loss"] / variance;
  std::cout << "16 numbers explain " << 100 * explained << " % of the variance of the images held out\n";
  const ct::Array codes = nn::Sequential(encoder).predict(data.test_x);
  std::cout << "Codes: " << nn::to_string(codes.shape()) << "\n";
  return explained >= 0.85 ? 0 : 1;
}
