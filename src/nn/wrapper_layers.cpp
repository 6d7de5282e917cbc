// Layers around other layers.
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include "base/index.hpp"

namespace croton::nn {
namespace {

class TimeDistributedDefinition : public LayerDefinition {
 public:
  TimeDistributedDefinition(const Layer& layer, const OptionalShape& input_shape, const std::string& name)
      : LayerDefinition("TimeDistributed", name), layer_(layer) {
    input_shape_ = input_shape.shape();
    if (layer.definition().arity().first > 1)
      refuse(fmt::format("a layer of one input is expected, and {} ({}) has more", layer.name(), layer.type()));
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape shape = layer_.definition().output_shape({step(inputs[0])});
    shape.insert(shape.begin(), inputs[0][0]);
    return shape;
  }
  DType output_dtype(const std::vector<DType>& inputs) const override {
    return layer_.definition().output_dtype(inputs);
  }
  DType input_dtype() const override { return layer_.definition().input_dtype(); }
  void make_weights(const std::vector<Shape>& inputs) override { layer_.build({step(inputs[0])}); }
  std::vector<Layer> inner() const override { return {layer_}; }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    const Variable& x = inputs[0].value;
    const Variable all = reshape(x, append_sizes_from({x.shape(0) * x.shape(1)}, x, 2));
    const Variable y = layer_.definition().call({Flow{all}}, context).value;
    const std::int64_t steps = x.type().shape[1];
    return {
        reshape(y, append_sizes_from({x.shape(0), steps == unknown_size ? Operand(x.shape(1)) : Operand(steps)}, y, 1)),
        inputs[0].mask};
  }

 private:
  Shape step(const Shape& shape) const {
    if (shape.empty()) fail("takes steps after the batch");
    return {shape.begin() + 1, shape.end()};
  }
  /// The sizes, and after them those of x from the axis on, as numbers where these are stated.
  static std::vector<Operand> append_sizes_from(std::vector<Operand> sizes, const Variable& x, int axis) {
    for (; axis < x.rank(); ++axis) {
      const std::int64_t size = base::nth(x.type().shape, axis);
      sizes.push_back(size == unknown_size ? Operand(x.shape(axis)) : Operand(size));
    }
    return sizes;
  }

  Layer layer_;
};

}  // namespace

TimeDistributed::TimeDistributed(const Layer& layer, OptionalShape input_shape, const std::string& name, Where where)
    : Layer(make_layer_at<TimeDistributedDefinition>(where, layer, input_shape, name)) {}

}  // namespace croton::nn
