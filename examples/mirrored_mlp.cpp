// Data parallel training in detail, in the seven steps of TensorFlow's tutorials: each device has a copy of the model
// and trains with its part of every batch; gradients are added up, and all copies make the same step. At the end the
// copies are compared with each other, and with training with the same parts on one device: the bits must be the same.
// Exits with 0 if they are, and it reads at least 95 of 100 held-out digits.
//
// Usage: mirrored_mlp [DEVICE ...]    (cpu0 cpu1)
//
// 1. Headers.
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

constexpr int side = 28, batch = 64, epochs = 6;

struct Trained {
  std::vector<ct::Array> weights;
  std::vector<double> losses;  ///< of all epochs
  bool copies_agree = true;
  double accuracy = 0;
};

Trained train(const nn::MirroredStrategy& strategy, const digits::Split& data) {
  // 2. The model, made in the scope of the strategy: each parameter gets a copy on each device.
  const auto scope = strategy.scope();
  nn::set_seed(1);
  nn::Sequential model{nn::Dense(128, {.activation = "relu", .input_shape = {side * side}}),
                       nn::Dense(10, {.activation = "softmax"})};
  // 3. The loss, for each sample separately: it is divided by the size of the whole batch, not of a part.
  const nn::SparseCategoricalCrossentropy loss_of({.reduction = "none"});
  // 4. The optimizer.
  const nn::Adam adam({.learning_rate = 2e-3});

  // 5. The work of one device, which `run` builds once for each part. 6. In it the optimizer gets the gradients' sum
  // over all parts, and 7. updates the copy of each device.
  const auto step = [&](ct::Variable x, ct::Variable y) {
    const ct::Variable loss = nn::compute_average_loss(loss_of(y, model(x)), {.global_batch_size = batch});
    adam.apply_gradients(nn::zip(ct::grad(loss, model.trainable_variables()), model.trainable_variables()));
    return loss;
  };
  const ct::Variable x = ct::matrix("x"), y = ct::ivector("y");
  const ct::Variable total = strategy.reduce(nn::ReduceOp::sum, strategy.run(step, {x, y}));
  const nn::DistributedFunction learn = strategy.function({x, y}, total);

  const nn::DistributedDataset parts = strategy.distribute_dataset(nn::Dataset::from_arrays(
      data.train_x, data.train_y, {.batch_size = batch, .shuffle = true, .drop_remainder = true}));
  Trained result;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double sum = 0;
    int steps = 0;
    const auto next = parts.begin(epoch);
    for (auto one = next(); one; one = next(), ++steps) sum += learn(one->x[0], one->y[0]).item<double>();
    result.losses.push_back(sum / steps);
  }
  for (const ct::SharedVariable& w : model.weights()) {
    for (const ct::SharedVariable& copy : w.copies())
      result.copies_agree = result.copies_agree && copy.get_value().same_bits(w.get_value());
  }
  const ct::Function right = ct::function({x, y}, ct::mean(ct::eq(ct::argmax(model(x), 1), y)));
  result.accuracy = right(data.test_x, data.test_y).item<double>();
  result.weights = model.get_weights();
  return result;
}

int run(const std::vector<std::string>& devices) {
  device_names::provide(devices);
  const digits::Split data = digits::load(side);
  const nn::MirroredStrategy several(devices);
  std::cout << several.num_replicas_in_sync() << " replicas:";
  for (const std::string& device : several.devices()) std::cout << " " << device;
  std::cout << "\n";
  const Trained mirrored = train(several, data);
  for (std::size_t epoch = 0; epoch < mirrored.losses.size(); ++epoch)
    std::cout << command_line::text("epoch %zu  loss %.4f\n", epoch + 1, mirrored.losses[epoch]);
  std::cout << command_line::text("accuracy on the digits held out: %.4f\n", mirrored.accuracy)
            << "the copies on all devices: " << (mirrored.copies_agree ? "the same bits" : "OTHER weights") << "\n";

  const Trained alone = train(nn::MirroredStrategy({devices[0]}, {.shards = devices.size()}), data);
  bool same = alone.losses == mirrored.losses;
  for (std::size_t i = 0; i < alone.weights.size(); ++i) same = same && alone.weights[i].same_bits(mirrored.weights[i]);
  std::cout << "one device with " << devices.size() << " shards: " << (same ? "the same bits" : "OTHER weights")
            << "\n";
  return mirrored.copies_agree && same && mirrored.accuracy >= 0.95 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>{"cpu0", "cpu1"});
  } catch (const std::exception& error) {
    std::cerr << "mirrored_mlp: " << error.what() << "\n";
    return 1;
  }
}
