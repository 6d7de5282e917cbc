// The MLP of Theano's tutorial, as its users write it, and the same in plain loops in double.
#pragma once

#include <croton/croton.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace croton::test {

struct MlpWeights {
  Array w1, w2, w3;
};

/// Numbers that are not scaled by the number of inputs, as in the tutorial.
inline MlpWeights unscaled_weights(std::int64_t inputs, std::int64_t hidden, std::int64_t classes) {
  return {Array::normal(DType::float32, {inputs, hidden}, 1), Array::normal(DType::float32, {hidden, hidden}, 2),
          Array::normal(DType::float32, {hidden, classes}, 3)};
}
/// Numbers for which logits are near 1.
inline MlpWeights scaled_weights(std::int64_t inputs, std::int64_t hidden, std::int64_t classes) {
  MlpWeights weights = unscaled_weights(inputs, hidden, classes);
  for (Array* w : {&weights.w1, &weights.w2, &weights.w3}) {
    for (float& value : w->data<float>()) value *= std::sqrt(2.F / static_cast<float>(w->shape(0)));
  }
  return weights;
}
inline Array class_numbers(std::int64_t rows, std::int64_t classes) {
  return Array::uniform(DType::int32, {rows}, 5, 0, static_cast<double>(classes));
}

struct Mlp {
  Variable x = matrix("x"), y = ivector("y"), h1, h2, y_pred, loss;
  SharedVariable w1, w2, w3;
  std::vector<Variable> gradients;
  Function train, predict;

  explicit Mlp(const MlpWeights& weights, std::optional<bool> allow_input_downcast = {})
      : w1(shared(weights.w1, {.name = "w1"})),
        w2(shared(weights.w2, {.name = "w2"})),
        w3(shared(weights.w3, {.name = "w3"})) {
    h1 = nnet::relu(dot(x, w1));
    h2 = nnet::relu(dot(h1, w2));
    y_pred = nnet::softmax(dot(h2, w3));
    loss = mean(nnet::categorical_crossentropy(y_pred, y)).named("loss");
    gradients = grad(loss, {w1, w2, w3});
    train = function(
        {x, y}, loss,
        {.updates = {{w1, w1 - 0.1 * gradients[0]}, {w2, w2 - 0.1 * gradients[1]}, {w3, w3 - 0.1 * gradients[2]}},
         .name = "train",
         .allow_input_downcast = allow_input_downcast});
    predict = function({x}, y_pred, {.name = "predict", .allow_input_downcast = allow_input_downcast});
  }
};

/// A matrix in double, row by row.
struct Loops {
  std::size_t rows = 0, columns = 0;
  std::vector<double> at_;

  Loops(std::size_t m, std::size_t n) : rows(m), columns(n), at_(m * n, 0.0) {}
  explicit Loops(const Array& a) : Loops(static_cast<std::size_t>(a.shape(0)), static_cast<std::size_t>(a.shape(1))) {
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = a.as_double(static_cast<std::int64_t>(i));
  }
  double& at(std::size_t i, std::size_t j) { return at_[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return at_[i * columns + j]; }

  Loops times(const Loops& other) const {
    Loops result(rows, other.columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k) {
        for (std::size_t j = 0; j < other.columns; ++j) result.at(i, j) += at(i, k) * other.at(k, j);
      }
    }
    return result;
  }
  Loops transposed() const {
    Loops result(columns, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) result.at(j, i) = at(i, j);
    }
    return result;
  }
  template <class F>
  Loops each(F f) const {
    Loops result = *this;
    for (double& value : result.at_) value = f(value);
    return result;
  }
};

/// Training in plain loops: the losses and gradients that the program must have.
struct MlpByLoops {
  Loops w1, w2, w3;
  std::vector<Loops> gradients = {};
  Loops probabilities{0, 0};

  explicit MlpByLoops(const MlpWeights& weights) : w1(weights.w1), w2(weights.w2), w3(weights.w3) {}

  /// Returns the loss before the step, and makes the step.
  double train(const Array& inputs, const Array& labels) {
    const auto relu = [](double v) { return 0.5 * (v + std::abs(v)); };
    const auto slope = [](double v) { return v > 0 ? 1.0 : (v < 0 ? 0.0 : 0.5); };
    const Loops x(inputs), a1 = x.times(w1), h1 = a1.each(relu), a2 = h1.times(w2), h2 = a2.each(relu);
    Loops logits = h2.times(w3);
    probabilities = logits;
    double loss = 0;
    Loops d3 = logits;
    const auto n = static_cast<double>(logits.rows);
    for (std::size_t i = 0; i < logits.rows; ++i) {
      const auto target = static_cast<std::size_t>(labels.as_double(static_cast<std::int64_t>(i)));
      double largest = logits.at(i, 0), sum = 0;
      for (std::size_t j = 1; j < logits.columns; ++j) largest = std::max(largest, logits.at(i, j));
      for (std::size_t j = 0; j < logits.columns; ++j) sum += std::exp(logits.at(i, j) - largest);
      loss += std::log(sum) + largest - logits.at(i, target);
      for (std::size_t j = 0; j < logits.columns; ++j) {
        probabilities.at(i, j) = std::exp(logits.at(i, j) - largest) / sum;
        d3.at(i, j) = (probabilities.at(i, j) - (j == target ? 1 : 0)) / n;
      }
    }
    const auto through = [&](const Loops& d, const Loops& w, const Loops& a) {
      Loops back = d.times(w.transposed());
      for (std::size_t i = 0; i < back.at_.size(); ++i) back.at_[i] *= slope(a.at_[i]);
      return back;
    };
    const Loops d2 = through(d3, w3, a2), d1 = through(d2, w2, a1);
    gradients = {x.transposed().times(d1), h1.transposed().times(d2), h2.transposed().times(d3)};
    Loops* weights[] = {&w1, &w2, &w3};
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t i = 0; i < weights[k]->at_.size(); ++i) weights[k]->at_[i] -= 0.1 * gradients[k].at_[i];
    }
    return loss / n;
  }
};

/// The largest difference, relative to the largest number.
inline double difference(const Array& a, const Loops& b) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < b.at_.size(); ++i) {
    worst = std::max(worst, std::abs(a.as_double(static_cast<std::int64_t>(i)) - b.at_[i]));
    largest = std::max(largest, std::abs(b.at_[i]));
  }
  return worst / largest;
}

}  // namespace croton::test
