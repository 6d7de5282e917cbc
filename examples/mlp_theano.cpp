// The MLP of Theano's tutorials at its real size, with the same random numbers as NumPy gives for seed 0: 1,000 rows of
// 1,000 inputs, two hidden layers of 1,000 and a softmax of 10, 100 steps of gradient descent over 800 rows at once.
// The weights are not scaled, so logits of 50,000 occur: written out naively the first loss is infinite, here it is
// 22547.56. The labels are noise, so the accuracy on the rows held out stays near 0.1.
//
// Everything runs twice: with arrays of the inputs' own types, then with NumPy's float64 and int64, which
// `allow_input_downcast` lets in. Both must give the same bits.
//
// Usage: mlp_theano [EPOCHS]
#include <croton/croton.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

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
      .train = ct::function({x, y}, loss,
                            {.updates = {{w1, w1 - 0.1 * g1}, {w2, w2 - 0.1 * g2}, {w3, w3 - 0.1 * g3}},
                             .name = "train",
                             .allow_input_downcast = allow_input_downcast}),
      .predict = ct::function({x}, y_pred, {.name = "predict", .allow_input_downcast = allow_input_downcast}),
  };
}

/// The part of the rows whose largest probability is that of their label.
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

/// Trains and returns the losses of all epochs.
std::vector<float> train(const Model& model, const ct::Array& x, const ct::Array& y, int epochs) {
  const ct::Array x_train = x.slice(0, 0, 800), y_train = y.slice(0, 0, 800);
  const ct::Array x_test = x.slice(0, 800, 1000), y_test = y.slice(0, 800, 1000);
  std::vector<float> losses;
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    losses.push_back(model.train(x_train, y_train).item<float>());
    if (epoch % 10 != 0) continue;
    std::printf("Epoch: %d, Test Accuracy: %g\n", epoch, accuracy(model.predict(x_test), y_test));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("first loss %.2f, last loss %.4g; %.3f s an epoch on the CPU\n", static_cast<double>(losses.front()),
              static_cast<double>(losses.back()), time.count() / epochs);
  return losses;
}

int main(int argc, char** argv) {
  try {
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 100;
    if (epochs < 1 || argc > 2) {
      std::fputs("usage: mlp_theano [EPOCHS]\n", stderr);
      return 2;
    }
    const Numbers numbers = draw();
    const std::vector<float> exact =
        train(build(numbers, false), numbers.x.astype(ct::DType::float32), numbers.y.astype(ct::DType::int32), epochs);
    std::printf("\nagain, with float64 and int64 and allow_input_downcast\n");
    const std::vector<float> converted = train(build(numbers, true), numbers.x, numbers.y, epochs);
    std::printf("the losses of both are %s\n", exact == converted ? "the same" : "NOT the same");
    return exact == converted ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlp_theano: %s\n", error.what());
    return 1;
  }
}
