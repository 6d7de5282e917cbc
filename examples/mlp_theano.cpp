// The MLP of Theano's tutorials at its real size, with NumPy's random numbers for seed 0: 1,000 rows of 1,000 inputs,
// two hidden layers of 1,000 and a softmax of 10, 100 steps of gradient descent over 800 rows at once. The weights are
// not scaled, so logits of 50,000 occur: with a naive formula the first loss is infinite, here it is 22547.56. The
// labels are noise, so the accuracy on the rows held out stays near 0.1.
//
// Everything runs twice: with arrays of the inputs' dtypes, then with NumPy's float64 and int64, which
// `allow_input_downcast` permits. Both must give the same bits. At the end the same code runs on another device: only
// the flag `device` differs. The parameters are moved once, and each step moves the batch and the loss; random numbers
// and the accuracy are still computed on the host.
//
// Usage: mlp_theano [EPOCHS [DEVICE]]    (100 cuda0, which is simulated if there is none)
#include <croton/croton.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "device_names.hpp"
#include "legacy_random.hpp"

namespace ct = croton;

struct Numbers {
  ct::Array x, y, w1, w2, w3;
};

Numbers draw() {
  LegacyRandom random(0);
  Numbers numbers;
  numbers.x = random.normal_array({1000, 1000});
  numbers.y = random.integer_array(0, 10, 1000);
  numbers.w1 = random.normal_array({1000, 1000}).astype(ct::DType::float32);
  numbers.w2 = random.normal_array({1000, 1000}).astype(ct::DType::float32);
  numbers.w3 = random.normal_array({1000, 10}).astype(ct::DType::float32);
  return numbers;
}

struct Model {
  std::vector<ct::SharedVariable> weights;
  ct::Function train, predict;
};

Model build(const Numbers& numbers, bool allow_input_downcast) {
  ct::Variable x = ct::matrix("x");
  ct::Variable y = ct::ivector("y");
  ct::SharedVariable w1 = ct::shared(numbers.w1, {.name = "w1"});
  ct::SharedVariable w2 = ct::shared(numbers.w2, {.name = "w2"});
  ct::SharedVariable w3 = ct::shared(numbers.w3, {.name = "w3"});

  ct::Variable h1 = ct::nnet::relu(ct::dot(x, w1));
  ct::Variable h2 = ct::nnet::relu(ct::dot(h1, w2));
  ct::Variable y_pred = ct::nnet::softmax(ct::dot(h2, w3));
  ct::Variable loss = ct::mean(ct::nnet::categorical_crossentropy(y_pred, y));

  auto [g1, g2, g3] = ct::grad(loss, w1, w2, w3);
  return {
      .weights = {w1, w2, w3},
      .train = ct::function({x, y}, loss,
                            {.updates = {{w1, w1 - 0.1 * g1}, {w2, w2 - 0.1 * g2}, {w3, w3 - 0.1 * g3}},
                             .name = "train",
                             .allow_input_downcast = allow_input_downcast}),
      .predict = ct::function({x}, y_pred, {.name = "predict", .allow_input_downcast = allow_input_downcast}),
  };
}

/// The fraction of the rows whose largest probability is that of their label.
double accuracy(const ct::Array& probabilities, const ct::Array& labels) {
  int right = 0;
  for (std::int64_t row = 0; row < labels.size(); ++row) {
    const ct::Array p = probabilities.row(row);
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < p.size(); ++i) {
      if (p.as_double(i) > p.as_double(best)) best = i;
    }
    right += static_cast<double>(best) == labels.as_double(row) ? 1 : 0;
  }
  return right / static_cast<double>(labels.size());
}

struct Training {
  std::vector<float> losses;  ///< of all epochs
  double seconds = 0;         ///< of an epoch, compilation included
};

Training train(const Model& model, const ct::Array& x, const ct::Array& y, int epochs) {
  const ct::Array x_train = x.slice(0, 0, 800), y_train = y.slice(0, 0, 800);
  const ct::Array x_test = x.slice(0, 800, 1000), y_test = y.slice(0, 800, 1000);
  Training result;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    result.losses.push_back(model.train(x_train, y_train).item<float>());
    if (epoch % 10 != 0) continue;
    std::printf("Epoch: %d, Test Accuracy: %g\n", epoch, accuracy(model.predict(x_test), y_test));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  result.seconds = time.count() / epochs;
  std::printf("first loss %.2f, last loss %.4g; %.3f s an epoch on %s\n", static_cast<double>(result.losses.front()),
              static_cast<double>(result.losses.back()), result.seconds, model.train.devices().front().c_str());
  return result;
}

/// The largest difference of two parameters, relative to the largest number of the first.
double difference(const ct::Array& a, const ct::Array& b) {
  double largest = 0, apart = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a.as_double(i)));
    apart = std::max(apart, std::abs(a.as_double(i) - b.as_double(i)));
  }
  return apart / largest;
}

/// The weights after one step on a device.
std::vector<ct::Array> one_step(const Numbers& numbers, const ct::Array& x, const ct::Array& y,
                                const std::string& device) {
  const ct::change_flags on("device=" + device);
  const Model model = build(numbers, false);
  model.train(x.slice(0, 0, 800), y.slice(0, 0, 800));
  std::vector<ct::Array> weights;
  for (const ct::SharedVariable& w : model.weights) weights.push_back(w.get_value());
  return weights;
}

/// Whether one step on both devices gives the same weights within 1e-4.
bool agrees(const Numbers& numbers, const ct::Array& x, const ct::Array& y, const std::string& device) {
  const std::vector<ct::Array> host = one_step(numbers, x, y, "cpu"), other = one_step(numbers, x, y, device);
  double largest = 0;
  for (std::size_t i = 0; i < host.size(); ++i) largest = std::max(largest, difference(host[i], other[i]));
  std::printf("after one step the weights differ by %.1e of the largest one, %s than 1e-4\n", largest,
              largest < 1e-4 ? "less" : "NOT less");
  return largest < 1e-4;
}

int run(int epochs, const std::string& device) {
  device_names::provide({device});
  const Numbers numbers = draw();
  const ct::Array x = numbers.x.astype(ct::DType::float32), y = numbers.y.astype(ct::DType::int32);
  ct::set_flag("device", "cpu");
  const Training exact = train(build(numbers, false), x, y, epochs);
  std::printf("\nagain, with float64 and int64 and allow_input_downcast\n");
  const Training converted = train(build(numbers, true), numbers.x, numbers.y, epochs);
  const bool same = exact.losses == converted.losses;
  std::printf("the losses of both are %s\n", same ? "the same" : "NOT the same");

  const std::string remark = device_names::remark(device);
  std::printf("\nagain, with device=%s\n", device.c_str());
  const bool close = agrees(numbers, x, y, device);  // also compiles
  const ct::change_flags on("device=" + device);
  const bool slow = remark.find("simulated") != std::string::npos;
  const Training there = train(build(numbers, false), x, y, slow ? std::min(epochs, 3) : epochs);
  std::printf("seconds per epoch: %.4f on cpu, %.4f on %s, ratio %.2f%s\n", converted.seconds, there.seconds,
              device.c_str(), converted.seconds / there.seconds, remark.c_str());
  return same && close ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    if (argc > 3) {
      std::fputs("usage: mlp_theano [EPOCHS [DEVICE]]\n", stderr);
      return 2;
    }
    return run(argc > 1 ? command_line::number<int>("EPOCHS", argv[1], 1, 100000) : 100, argc > 2 ? argv[2] : "cuda0");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlp_theano: %s\n", error.what());
    return 1;
  }
}
