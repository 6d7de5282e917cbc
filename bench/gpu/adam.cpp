// One step of Adam over many tensors: the cost of an optimizer when most tensors are small.
#include <croton/nn/optimizers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "gpu/checks.hpp"
#include "gpu/makers.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::SharedVariable;
using ct::Sizes;

namespace {

constexpr double rate = 1e-3, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
constexpr int steps = 3;

/// A transformer of 768 units with 50,257 words, 1,024 places and eight layers: 96.1 million parameters in 100 tensors
/// of 768 to 38.6 million. `scale` divides the first axes.
std::vector<Sizes> transformer(std::int64_t scale) {
  constexpr std::int64_t n = 768;
  std::vector<Sizes> shapes{{50257, n}, {1024, n}, {n}, {n}};                      // embeddings, the last normalisation
  const std::vector<Sizes> layer{{n}, {n}, {n, 3 * n}, {3 * n}, {n, n},     {n},   // normalisation, attention
                                 {n}, {n}, {n, 4 * n}, {4 * n}, {4 * n, n}, {n}};  // normalisation, two products
  for (int i = 0; i < 8; ++i) shapes.insert(shapes.end(), layer.begin(), layer.end());
  for (Sizes& shape : shapes) shape[0] = std::max<std::int64_t>(1, shape[0] / scale);
  return shapes;
}

std::int64_t size_of(const Sizes& shape) { return shape.size() == 1 ? shape[0] : shape[0] * shape[1]; }

struct Element {
  double parameter, mean, square;
};

/// An element after all checked steps, each with the same gradient.
Element reference(double parameter, double gradient) {
  Element e{parameter, 0, 0};
  for (int t = 1; t <= steps; ++t) {
    e.mean = beta_1 * e.mean + (1 - beta_1) * gradient;
    e.square = beta_2 * e.square + (1 - beta_2) * gradient * gradient;
    const double step = rate * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
    e.parameter -= step * e.mean / (std::sqrt(e.square) + epsilon);
  }
  return e;
}

/// All tensors, consecutive in two noises: `values` has their parameters, `gradients` their gradients.
class Problem {
 public:
  Problem(const std::vector<Sizes>& shapes, std::int64_t size)
      : values_(611, -0.05, 0.05, size), gradients_(612, -0.01, 0.01, size) {
    for (std::int64_t first = 0; const Sizes& shape : shapes) {
      parameters_.push_back(ct::shared(values_.array(shape, first), {.borrow = true}));
      pairs_.emplace_back(ct::shared(gradients_.array(shape, first), {.borrow = true}), parameters_.back());
      first += size_of(shape);
    }
  }

  /// `state` is the optimizer's: the mean and the square of each parameter.
  double error(std::span<const SharedVariable> state) const {
    NormError changes, means, squares;
    std::int64_t first = 0;
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      const ct::Array p = parameters_[k].get_value(true), m = state[2 * k].get_value(true),
                      v = state[2 * k + 1].get_value(true);
      for (const std::int64_t i : sampled(p.size(), 1024)) {
        const double value = values_(first + i);
        const Element want = reference(value, gradients_(first + i));
        changes.add_change(p.as_double(i), want.parameter, value);
        means.add(m.as_double(i), want.mean);
        squares.add(v.as_double(i), want.square);
      }
      first += p.size();
    }
    return std::max({changes.value(), means.value(), squares.value()});
  }
  const std::vector<SharedVariable>& parameters() const { return parameters_; }
  const std::vector<std::pair<ct::Variable, SharedVariable>>& pairs() const { return pairs_; }

 private:
  Noise values_, gradients_;
  std::vector<SharedVariable> parameters_;
  std::vector<std::pair<ct::Variable, SharedVariable>> pairs_;  // each gradient with its parameter
};

}  // namespace

Work adam(std::int64_t scale) {
  const std::vector<Sizes> shapes = transformer(scale);
  std::int64_t size = 0;
  for (const Sizes& shape : shapes) size += size_of(shape);
  const Problem problem(shapes, size);
  const ct::nn::Adam optimizer({.learning_rate = rate, .beta_1 = beta_1, .beta_2 = beta_2, .epsilon = epsilon});
  Work work = work_of(problem.parameters(), [&] { return optimizer.apply_gradients(problem.pairs()); });
  work.bytes = 7 * float_bytes * static_cast<double>(size);  // reads the gradient; reads and writes the three others
  work.checked_steps = steps;
  work.error = [problem, state = optimizer.variables()] {
    return problem.error(std::span(state).subspan(2));  // after the count of steps and the rate
  };
  return work;
}

}  // namespace bench::gpu
