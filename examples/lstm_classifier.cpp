// A recurrent network reads the digits row by row, from the top to the bottom: 28 steps of 28 pixels for an LSTM of 64
// units. Exits with 0 if it reads at least 97 of 100 held-out digits.
#include <croton/nn.hpp>

#include <iostream>

#include "digits_split.hpp"

namespace ct = croton;
namespace nn = croton::nn;

int main() {
  nn::set_seed(1);
  const digits::Split data = digits::load(28);
  const auto rows = [](const ct::Array& images) { return images.reshape({images.shape(0), 28, 28}); };
  nn::Sequential model{nn::LSTM(64, {.input_shape = {28, 28}}), nn::Dense(10)};
  std::cout << model.summary();
  model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .optimizer = nn::Adam({.learning_rate = nn::CosineDecay(4e-3, 15 * 23), .clip = {.global_norm = 1.0}}),
                 .metrics = {"accuracy"}});
  model.fit(rows(data.train_x), data.train_y,
            {.epochs = 15, .batch_size = 64, .validation_data = std::pair{rows(data.test_x), data.test_y}});
  const nn::Logs logs = model.evaluate(rows(data.test_x), data.test_y);
  std::cout << "Of the digits held out: " << logs << "\n";
  return logs["accuracy"] >= 0.97 ? 0 : 1;
}
