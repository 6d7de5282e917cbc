#include "gpu/mlp_reference.hpp"

#include <cstddef>

namespace bench::gpu {

namespace {

void add_to_rows(Matrix& a, const Values& bias) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < bias.size(); ++j) a.row(i)[j] += bias[j];
  }
}

/// The operand of each layer's product (x, then the relu of the previous layer), and last the logits.
std::vector<Matrix> values_of(const std::vector<DenseLayer>& layers, const Matrix& x) {
  std::vector<Matrix> values{x};
  for (const DenseLayer& layer : layers) {
    if (values.size() > 1) relu(values.back());
    values.push_back(product(values.back(), layer.weight));
    add_to_rows(values.back(), layer.bias);
  }
  return values;
}

void descend(DenseLayer& layer, const Matrix& input, const Matrix& slope, double rate) {
  const Matrix change = product(transposed(input), slope);
  for (std::size_t i = 0; i < change.data.size(); ++i) layer.weight.data[i] -= rate * change.data[i];
  for (std::size_t i = 0; i < slope.rows; ++i) {
    for (std::size_t j = 0; j < layer.bias.size(); ++j) layer.bias[j] -= rate * slope.row(i)[j];
  }
}

}  // namespace

void descend(std::vector<DenseLayer>& layers, const Matrix& x, const Values& targets, double rate) {
  std::vector<Matrix> values = values_of(layers, x);
  Matrix slope = std::move(values.back());
  cross_entropy(slope, targets);
  for (std::size_t i = layers.size(); i-- > 0;) {
    Matrix before(0, 0);
    if (i > 0) {
      // weight * slope^T, because transposing the weight takes longer than the product.
      before = transposed(product(layers[i].weight, transposed(slope)));
      mask(before, values[i]);
    }
    descend(layers[i], values[i], slope, rate);
    slope = std::move(before);
  }
}

}  // namespace bench::gpu
