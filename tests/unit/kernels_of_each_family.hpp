// Functions that together have a kernel of each family, and one launch of several kernels.
#pragma once

#include <croton/convolution.hpp>
#include <croton/croton.hpp>

#include <vector>

namespace croton::test {

inline std::vector<Function> one_of_each_family() {
  const Variable x = matrix("x");
  const Variable a = shared(Array::zeros(DType::float32, {8}), {.name = "a"});
  const Variable b = shared(Array::zeros(DType::float32, {9}), {.name = "b"});
  FunctionOptions updates;
  updates.updates = {{a, a * 2.f}, {b, b * 2.f}};
  const Variable windows = nnet::conv1d(expand_dims(x, 1), Array::uniform(DType::float32, {5, 1, 40}, 3, -1, 1));
  return {function({x}, exp(x)),    function({x}, nnet::softmax(x, 1)),
          function({x}, sum(x, 0)), function({x}, sum(x)),
          function({x}, windows),   function({}, OutputList(std::vector<Variable>{}), updates)};
}

}  // namespace croton::test
