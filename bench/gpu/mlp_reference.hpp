// A training step of dense layers in float64, by plain loops on the host.
#pragma once

#include <vector>

#include "matrix.hpp"

namespace bench::gpu {

struct DenseLayer {
  Matrix weight;
  Values bias;  ///< empty: none
};

/// One step of gradient descent on the mean cross-entropy of a softmax, with relu between the layers. A row of x is a
/// sample, and its target the number of a class.
void descend(std::vector<DenseLayer>& layers, const Matrix& x, const Values& targets, double rate);

}  // namespace bench::gpu
