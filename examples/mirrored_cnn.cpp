// A convolutional network is trained on several devices by `fit`: because it is made in the scope of a strategy, no
// other line differs from training on one device. Its three layers are those of the tutorials, except for windows of 15
// x 15: those of 3 x 3 (650 parameters, `mirrored_cnn 3`) see only edges of these digits and learn almost nothing.
// Exits with 0 if the copies on all devices have the same bits, and it reads at least 90 of 100 held-out digits.
//
// Usage: mirrored_cnn [WINDOW [DEVICE ...]]    (15 cpu0 cpu1)
#include <croton/nn.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "device_names.hpp"
#include "digits_split.hpp"

namespace ct = croton;
namespace nn = croton::nn;

namespace {

constexpr int side = 28, epochs = 12, batch = 64;

/// A callback that records numbers of the training.
struct Report : nn::Callback {
  void on_epoch_end(nn::Model&, std::int64_t epoch, nn::Logs& logs) override {
    if (epoch % 4 == 3) std::cout << "epoch " << epoch + 1 << "  " << logs << "\n";
  }
};

bool copies_agree(const nn::Model& model) {
  for (const ct::SharedVariable& weight : model.weights()) {
    for (const ct::SharedVariable& copy : weight.copies()) {
      if (!copy.get_value().same_bits(weight.get_value())) return false;
    }
  }
  return true;
}

int run(int window, const std::vector<std::string>& devices) {
  device_names::provide(devices);
  const digits::Split data = digits::load(side);
  const ct::Array x = digits::as_images(data.train_x, side), test = digits::as_images(data.test_x, side);

  const nn::MirroredStrategy strategy(devices);
  const auto scope = strategy.scope();
  nn::set_seed(1);
  nn::Sequential model{nn::Conv2D(32, window, {.activation = "relu", .input_shape = {side, side, 1}}),
                       nn::GlobalMaxPooling2D(), nn::Dense(10)};
  std::cout << model.summary();
  model.compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .optimizer = nn::Adam({.learning_rate = 5e-3}),
                 .metrics = {nn::SparseCategoricalAccuracy()}});
  // Any iterable of pairs (x, y) is a data set; the last batch is smaller, and is weighted by its rows.
  const nn::Dataset batches = nn::Dataset::from_arrays(x, data.train_y, {.batch_size = batch, .shuffle = true});
  const nn::History history =
      model.fit(batches, {.epochs = epochs, .verbose = nn::Verbose::silent, .callbacks = {Report()}});

  const std::vector<double> losses = history["loss"];
  std::cout << "history: " << history.epochs.size() << " epochs of " << *batches.batches() << " steps; the loss "
            << command_line::text("%.3f -> %.3f", losses.front(), losses.back()) << "\n";
  std::cout << "The last step sent\n";
  for (const ct::TransferInfo& sent : model.train_function().transfers())
    std::cout << "  " << sent.what << ": " << sent.from << " -> " << sent.to << ", " << sent.bytes << " bytes\n";
  const bool agree = copies_agree(model);
  const nn::Logs logs = model.evaluate(test, data.test_y);
  std::cout << "The copies on " << strategy.devices().size() << " devices: " << (agree ? "the same bits" : "DIFFER")
            << "\nOf the digits held out: " << logs << "\n";
  return agree && logs["sparse_categorical_accuracy"] >= 0.9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> given(argv + 1, argv + argc);
    const int window = given.empty() ? 15 : command_line::number<int>("WINDOW", given[0], 1, side);
    return run(window, given.size() > 1 ? std::vector<std::string>(given.begin() + 1, given.end())
                                        : std::vector<std::string>{"cpu0", "cpu1"});
  } catch (const std::exception& error) {
    std::cerr << "mirrored_cnn: " << error.what() << "\n";
    return 1;
  }
}
