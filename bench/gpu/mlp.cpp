// Training steps of dense layers: products by the library, and the operations around them.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "gpu/checks.hpp"
#include "gpu/makers.hpp"
#include "gpu/mlp_reference.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::Array;
using ct::SharedVariable;
using ct::Variable;

namespace {

constexpr double rate = 0.1;

/// relu between the layers, a softmax with cross-entropy after the last, gradient descent.
struct Mlp {
  std::int64_t batch;
  std::vector<std::int64_t> widths;
  std::vector<double> bounds;  // of the weights of each layer
  std::uint64_t weight_seed, input_seed, target_seed;
  bool has_biases;
  int checked_steps;

  std::size_t layers() const { return bounds.size(); }
  Noise weights(std::size_t i) const {
    return Noise(weight_seed + i, -bounds[i], bounds[i], widths[i] * widths[i + 1]);
  }
  /// The batch repeats 16 rows, so that a reference needs 16 rows: means over the batch are means over these.
  Noise inputs() const { return Noise(input_seed, -1, 1, distinct_rows * widths[0]); }
  std::vector<std::int64_t> targets() const {
    const Array drawn =
        Array::uniform(ct::DType::float64, {distinct_rows}, target_seed, 0, static_cast<double>(widths.back()));
    std::vector<std::int64_t> targets(static_cast<std::size_t>(batch));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<std::int64_t>(drawn.as_double(static_cast<std::int64_t>(i) % distinct_rows));
    }
    return targets;
  }
  /// For a step: each layer has one product in the forward pass and two in the backward pass, the first layer only one.
  double flop() const {
    double flop = 0;
    for (std::size_t i = 0; i < layers(); ++i) {
      flop += (i == 0 ? 4.0 : 6.0) * static_cast<double>(batch * widths[i] * widths[i + 1]);
    }
    return flop;
  }

  static constexpr std::int64_t distinct_rows = 16;
};

/// The sizes divided by `scale`, but not below the minimum of a batch and a layer.
Mlp scaled(Mlp mlp, std::int64_t scale) {
  mlp.batch = std::max<std::int64_t>(1, mlp.batch / scale / Mlp::distinct_rows) * Mlp::distinct_rows;
  for (std::int64_t& width : mlp.widths) width = std::max<std::int64_t>(10, width / scale);
  return mlp;
}

struct Parameters {
  std::vector<SharedVariable> weights, biases;
  std::vector<SharedVariable> all() const {
    std::vector<SharedVariable> list = weights;
    list.insert(list.end(), biases.begin(), biases.end());
    return list;
  }
};

Parameters parameters_of(const Mlp& mlp) {
  Parameters parameters;
  for (std::size_t i = 0; i < mlp.layers(); ++i) {
    const std::int64_t m = mlp.widths[i], n = mlp.widths[i + 1];
    parameters.weights.push_back(ct::shared(mlp.weights(i).array({m, n}), {.borrow = true}));
    if (mlp.has_biases) parameters.biases.push_back(ct::shared(Array::zeros(ct::DType::float32, {n})));
  }
  return parameters;
}

Variable loss_of(const Parameters& parameters, const Variable& x, const Variable& targets) {
  Variable h = x;
  for (std::size_t i = 0; i < parameters.weights.size(); ++i) {
    if (i > 0) h = ct::nnet::relu(h);
    h = ct::dot(h, parameters.weights[i]);
    if (!parameters.biases.empty()) h = h + parameters.biases[i];
  }
  return ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(h), targets));
}

Values doubles(const Noise& noise, std::size_t size) {
  Values values(size);
  for (std::int64_t i = 0; double& value : values) value = noise(i++);
  return values;
}

/// The layers after all checked steps, in float64.
std::vector<DenseLayer> reference(const Mlp& mlp) {
  std::vector<DenseLayer> layers;
  for (std::size_t i = 0; i < mlp.layers(); ++i) {
    const auto m = static_cast<std::size_t>(mlp.widths[i]), n = static_cast<std::size_t>(mlp.widths[i + 1]);
    layers.push_back({Matrix(m, n, doubles(mlp.weights(i), m * n)), Values(mlp.has_biases ? n : 0)});
  }
  const auto rows = static_cast<std::size_t>(Mlp::distinct_rows), width = static_cast<std::size_t>(mlp.widths[0]);
  const Matrix x(rows, width, doubles(mlp.inputs(), rows * width));
  const std::vector<std::int64_t> targets = mlp.targets();
  const Values distinct(targets.begin(), targets.begin() + Mlp::distinct_rows);
  for (int step = 0; step < mlp.checked_steps; ++step) descend(layers, x, distinct, rate);
  return layers;
}

/// The error of the change since the first value, elementwise: weights hardly move in a few steps.
template <class First>
double error_of_change(const SharedVariable& variable, const Values& want, const First& first) {
  const Array got = variable.get_value(true);
  if (static_cast<std::size_t>(got.size()) != want.size()) return std::numeric_limits<double>::infinity();
  const float* values = got.data<float>().data();
  NormError error;
  for (const std::int64_t i : sampled(got.size(), 1 << 18)) {
    error.add_change(values[i], want[static_cast<std::size_t>(i)], first(i));
  }
  return error.value();
}

double error_of(const Mlp& mlp, const Parameters& got) {
  const std::vector<DenseLayer> want = reference(mlp);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    worst = std::max(worst, error_of_change(got.weights[i], want[i].weight.data, mlp.weights(i)));
    if (!mlp.has_biases) continue;
    worst = std::max(worst, error_of_change(got.biases[i], want[i].bias, [](std::int64_t) { return 0.0; }));
  }
  return worst;
}

Work training(const Mlp& mlp) {
  const Parameters parameters = parameters_of(mlp);
  const SharedVariable x = ct::shared(mlp.inputs().array({mlp.batch, mlp.widths[0]}), {.name = "x", .borrow = true});
  const SharedVariable y = ct::shared(Array(mlp.targets()), {.name = "y", .borrow = true});
  const std::vector<SharedVariable> all = parameters.all();
  Work work = work_of(all, [&] {
    const std::vector<Variable> slopes = ct::grad(loss_of(parameters, x, y), {all.begin(), all.end()});
    Updates updates;
    for (std::size_t i = 0; i < all.size(); ++i) updates.emplace_back(all[i], all[i] - rate * slopes[i]);
    return updates;
  });
  work.flop = mlp.flop();
  work.checked_steps = mlp.checked_steps;
  // Sums over the batch in sequence round equal rows equally: up to 1.3e-4. TF32 moves units across zero: 1.5e-2.
  work.tolerance = 5e-4;
  work.error = [mlp, parameters] { return error_of(mlp, parameters); };
  return work;
}

}  // namespace

// The seeds of the inputs are those, among fifty, for which no hidden unit is near zero in the checked steps: a unit
// within rounding of it would be on for some programs and off for others, which changes weights by 4e-3 of their
// change.

Work mlp_step(std::int64_t scale) {
  return training(scaled({.batch = 800,
                          .widths = {1000, 1000, 1000, 10},
                          .bounds = {0.05, 0.05, 0.1},
                          .weight_seed = 502,
                          .input_seed = 5025,
                          .target_seed = 505,
                          .has_biases = false,
                          .checked_steps = 3},
                         scale));
}

Work mlp_big(std::int64_t scale) {
  return training(scaled({.batch = 4096,
                          .widths = {4096, 4096, 4096, 1000},
                          .bounds = {0.038, 0.038, 0.038},
                          .weight_seed = 512,
                          .input_seed = 5142,
                          .target_seed = 515,
                          .has_biases = true,
                          .checked_steps = 1},
                         scale));
}

}  // namespace bench::gpu
