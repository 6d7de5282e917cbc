// Activations as layers, with parameters that are given or learnt.
#include <croton/activations.hpp>
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builder/gradient_context.hpp"
#include "nn/axes.hpp"
#include "nn/floats.hpp"

namespace croton::nn {
namespace {

class ActivationDefinition : public LayerDefinition {
 public:
  ActivationDefinition(const Activation& activation, const std::string& name, const std::string& type = "Activation")
      : LayerDefinition(type, name), activation_(activation) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs[0]; }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    return {activation_(in_floats(inputs[0].value)), inputs[0].mask};
  }

 private:
  Activation activation_;
};

/// An activation with parameters that are at least 0, such as the slope of LeakyReLU.
class ParameterActivation : public ActivationDefinition {
 public:
  ParameterActivation(const std::string& type, const Activation& activation, double number, const std::string& what,
                      const std::string& name)
      : ActivationDefinition(activation, name, type) {
    check_parameter(number, what);
  }

 protected:
  void check_parameter(double number, const std::string& what) const {
    if (!(number >= 0 && std::isfinite(number)))
      refuse(fmt::format("{} is {}; it is at least 0, and finite", what, number));
  }
};

Activation relu_of(const ReLUOptions& options) {
  if (!options.max_value && options.negative_slope == 0 && options.threshold == 0) return "relu";
  return Activation(
      [options](const Variable& x) {
        const auto number = [&](double value) { return builder::number(value, x); };
        // NaN is not below the threshold, so it passes; at the threshold the gradient is that of the side below.
        const Variable below =
            options.negative_slope == 0 ? number(0) : number(options.negative_slope) * (x - number(options.threshold));
        const Variable y = where(x <= number(options.threshold), below, x);
        return options.max_value ? where(y >= number(*options.max_value), number(*options.max_value), y) : y;
      },
      "relu");
}

class ReLUDefinition : public ParameterActivation {
 public:
  explicit ReLUDefinition(const ReLUOptions& options)
      : ParameterActivation("ReLU", relu_of(options), options.negative_slope, "negative_slope", options.name) {
    check_parameter(options.threshold, "threshold");
    check_parameter(options.max_value.value_or(0), "max_value");
  }
};

class PReLUDefinition : public LayerDefinition {
 public:
  explicit PReLUDefinition(const PReLUOptions& options) : LayerDefinition("PReLU", options.name), options_(options) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Sizes sizes = slopes(inputs[0]);
    bool fits = !built() || sizes.size() == sizes_.size();
    for (std::size_t i = 0; built() && fits && i < sizes.size(); ++i)
      fits = sizes[i] == any_size || sizes[i] == sizes_[i];
    if (!fits) fail(fmt::format("has slopes of {}, but {}", to_string(sizes_), to_string(inputs[0])));
    return inputs[0];
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    sizes_ = slopes(inputs[0]);
    alpha_ = add_weight("alpha", sizes_,
                        {.initializer = options_.alpha_initializer, .regularizer = options_.alpha_regularizer});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    // At 0 both branches are the constant 0, so the gradient is 0.
    const Variable above = where(x <= builder::number(0, x), 0, x), below = where(x < builder::number(0, x), x, 0);
    return {above + value_of(alpha_) * below, inputs[0].mask};
  }

 private:
  Sizes slopes(const Shape& shape) const {
    Sizes sizes = shape;
    for (const int axis : options_.shared_axes) {
      const std::optional<std::size_t> at = axis_after_batch(axis, shape.size());
      if (!at)
        refuse(fmt::format("no axis {} in the batch and {} axes; the batch is always shared", axis, shape.size()));
      sizes[*at] = 1;
    }
    return sizes;
  }

  PReLUOptions options_;
  Sizes sizes_;
  SharedVariable alpha_;
};

}  // namespace

ActivationLayer::ActivationLayer(const Activation& activation, const std::string& name, Where where)
    : Layer(make_layer_at<ActivationDefinition>(where, activation, name)) {}
ReLU::ReLU(const ReLUOptions& options, Where where) : Layer(make_layer_at<ReLUDefinition>(where, options)) {}
LeakyReLU::LeakyReLU(double negative_slope, const std::string& name, Where where)
    : Layer(make_layer_at<ParameterActivation>(
          where, "LeakyReLU",
          Activation([negative_slope](const Variable& x) { return nnet::leaky_relu(x, negative_slope); }, "leaky_relu"),
          negative_slope, "negative_slope", name)) {}
ELU::ELU(double alpha, const std::string& name, Where where)
    : Layer(make_layer_at<ParameterActivation>(
          where, "ELU", Activation([alpha](const Variable& x) { return nnet::elu(x, alpha); }, "elu"), alpha, "alpha",
          name)) {}
PReLU::PReLU(const PReLUOptions& options, Where where) : Layer(make_layer_at<PReLUDefinition>(where, options)) {}

}  // namespace croton::nn
