// Costs and benefits of training on several devices: steps of `fit` without a strategy, with two shards on one device,
// and with two shards on two devices, alternating in one run, as times and ratios. Then the time in which both devices
// computed simultaneously, from a trace.
//
//   croton_strategy_bench [--rounds N] [--devices A,B]      by default cpu and cpu1, two halves of the host
#include <croton/croton.hpp>
#include <croton/nn.hpp>
#include <croton/trace.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"
#include "record.hpp"

namespace ct = croton;
namespace nn = croton::nn;
using ct::Array;

namespace {

struct Net {
  const char* name;
  std::int64_t batch;
  ct::Sizes row;
  std::vector<nn::Layer> (*layers)();
};

const Net nets[] = {
    {"tiny: Dense(4) on 8 rows", 8, {4}, [] { return std::vector<nn::Layer>{nn::Dense(4, {.input_shape = {4}})}; }},
    {"mlp: 784-512-512-10 on 256 rows",
     256,
     {784},
     [] {
       return std::vector<nn::Layer>{nn::Dense(512, {.activation = "relu", .input_shape = {784}}),
                                     nn::Dense(512, {.activation = "relu"}), nn::Dense(10)};
     }},
    {"cnn: 2 convolutions on 256 images of 28 x 28",
     256,
     {28, 28, 1},
     [] {
       return std::vector<nn::Layer>{nn::Conv2D(16, 3, {.activation = "relu", .input_shape = {28, 28, 1}}),
                                     nn::MaxPooling2D(2), nn::Conv2D(32, 3, {.activation = "relu"}),
                                     nn::GlobalMaxPooling2D(), nn::Dense(10)};
     }},
    {"lstm: LSTM(64) on 256 rows of 28 x 28",
     256,
     {28, 28},
     [] { return std::vector<nn::Layer>{nn::LSTM(64, {.input_shape = {28, 28}}), nn::Dense(10)}; }},
};

/// A model that learns on these devices; none: without a strategy.
class Training {
 public:
  Training(const Net& net, const std::vector<std::string>& devices) {
    std::optional<nn::MirroredStrategy> strategy;
    std::unique_ptr<nn::MirroredStrategy::Scope> scope;
    if (!devices.empty()) {
      strategy.emplace(devices, nn::MirroredOptions{.shards = 2});
      scope = std::make_unique<nn::MirroredStrategy::Scope>(*strategy);
    }
    nn::set_seed(1);
    model_.emplace(net.layers());
    model_->compile({.loss = nn::SparseCategoricalCrossentropy({.from_logits = true}), .optimizer = nn::Adam()});
    ct::Sizes shape{net.batch};
    shape.insert(shape.end(), net.row.begin(), net.row.end());
    batch_ = {{Array::uniform(ct::DType::float32, shape, 2, -1, 1)}, {Array::zeros(ct::DType::int32, {net.batch})}};
    for (int i = 0; i < 3; ++i) step();
  }
  void step() { model_->train_on_batch(batch_); }
  /// Microseconds of the fastest of some steps.
  double time() {
    double best = 1e30;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      step();
      best =
          std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  }
  /// The fraction of a step's time in which two devices compute.
  double overlap() {
    ct::Trace trace;
    step();
    trace.stop();
    std::vector<std::pair<double, int>> edges;
    double first = 1e30, last = 0;
    for (const ct::TraceEvent& e : trace.events()) {
      first = std::min(first, e.start);
      last = std::max(last, e.end);
      if (e.what == "transfer") continue;
      edges.emplace_back(e.start, 1);
      edges.emplace_back(e.end, -1);
    }
    std::ranges::sort(edges);
    double both = 0, since = 0;
    int running = 0;
    for (const auto& [time, change] : edges) {
      if (running >= 2) both += time - since;
      running += change;
      since = time;
    }
    return last > first ? both / (last - first) : 0;
  }

 private:
  std::optional<nn::Sequential> model_;
  nn::Batch batch_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(int rounds, std::vector<std::string> devices) {
  if (devices.empty()) {
    devices = {"cpu", "cpu1"};
    ct::set_flag("logical_devices", "cpu:2");
  }
  if (devices.size() != 2) throw std::invalid_argument("--devices takes two, as in cuda0,cuda1");
  std::printf("A step of training, in microseconds (medians of %d rounds), and as a ratio to the first.\n\n", rounds);
  std::printf("| net | no strategy | 2 shards on %s | 2 shards on %s and %s | both compute |\n|---|---|---|---|---|\n",
              devices[0].c_str(), devices[0].c_str(), devices[1].c_str());
  for (const Net& net : nets) {
    Training plain(net, {}), one(net, {devices[0]}), two(net, devices);
    std::vector<double> of_plain, of_one, of_two, one_ratios, two_ratios, overlaps;
    for (int round = 0; round < rounds; ++round) {
      of_plain.push_back(plain.time());
      of_one.push_back(one.time());
      of_two.push_back(two.time());
      one_ratios.push_back(of_one.back() / of_plain.back());
      two_ratios.push_back(of_two.back() / of_plain.back());
      overlaps.push_back(two.overlap());
    }
    std::printf("| %s | %.1f | %.1f (%.2f) | %.1f (%.2f) | %.0f %% |\n", net.name, median(of_plain), median(of_one),
                median(one_ratios), median(of_two), median(two_ratios), 100 * median(overlaps));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15;
  std::vector<std::string> devices;
  return bench::run_program(argc, argv,
                            {{"--rounds", [&](const std::string& value) { rounds = std::max(1, std::stoi(value)); }},
                             {"--devices", [&](const std::string& value) { devices = bench::split(value); }}},
                            [&] { return run(rounds, devices); });
}
