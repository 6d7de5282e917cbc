// Your first network: it learns to read handwritten digits (docs/use/first_network.md explains it line by line). Exits
// with 0 if it reads at least 97 of 100 held-out digits.
#include <croton/nn.hpp>

#include <iostream>

#include "digits_split.hpp"

namespace nn = croton::nn;

int main() {
  nn::set_seed(1);
  const digits::Split data = digits::load(28);
  nn::Sequential model{nn::Dense(128, {.activation = "relu", .input_shape = {784}}),
                       nn::Dense(10, {.activation = "softmax"})};
  std::cout << model.summary();
  model.compile({.loss = "sparse_categorical_crossentropy",
                 .optimizer = nn::Adam({.learning_rate = 2e-3}),
                 .metrics = {"accuracy"}});
  const nn::History history =
      model.fit(data.train_x, data.train_y, {.epochs = 12, .validation_data = std::pair{data.test_x, data.test_y}});
  history.plot("first_network.svg");
  model.save_weights("first_network.safetensors");
  const nn::Logs logs = model.evaluate(data.test_x, data.test_y);
  std::cout << "Of the digits held out: " << logs << "\n";
  return logs["accuracy"] >= 0.97 ? 0 : 1;
}
