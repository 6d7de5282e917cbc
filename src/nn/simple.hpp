// Layers that give what they take: sizes and dtype stay unless they say otherwise.
#pragma once

#include <croton/nn/layer.hpp>

namespace croton::nn {

/// A layer of one input.
class Simple : public LayerDefinition {
 public:
  using LayerDefinition::LayerDefinition;
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs[0]; }
  DType output_dtype(const std::vector<DType>& inputs) const override { return inputs[0]; }
};

}  // namespace croton::nn
