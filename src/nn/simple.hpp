// The base of layers of one input that keep its sizes and dtype, unless they override these.
#pragma once

#include <croton/nn/layer.hpp>

namespace croton::nn {

/// A layer whose output has the shape and dtype of its input.
class Simple : public LayerDefinition {
 public:
  using LayerDefinition::LayerDefinition;
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs[0]; }
  DType output_dtype(const std::vector<DType>& inputs) const override { return inputs[0]; }
};

}  // namespace croton::nn
