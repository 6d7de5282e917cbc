// Layers that draw random numbers in training.
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>

#include <cmath>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "nn/draws.hpp"
#include "nn/floats.hpp"
#include "nn/simple.hpp"

namespace croton::nn {
namespace {

/// A layer that draws random numbers in training.
class RandomLayer : public Simple {
 public:
  using Simple::Simple;
  void make_weights(const std::vector<Shape>&) override { draws_ = Draws(add_state("state", Draws::first_state())); }

 protected:
  Draws draws_;
};

/// A layer with a rate in [0, 1).
class RateLayer : public RandomLayer {
 public:
  RateLayer(const std::string& type, double rate, const std::string& name) : RandomLayer(type, name), rate_(rate) {
    if (!(rate >= 0 && rate < 1)) refuse(fmt::format("a rate of {}; it is at least 0 and below 1", rate));
  }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    if (!context.training || rate_ == 0) return inputs[0];
    return {drawn(in_floats(inputs[0].value), context), inputs[0].mask};
  }

 protected:
  virtual Variable drawn(const Variable& x, CallContext& context) = 0;
  double rate_;
};

class DropoutDefinition : public RateLayer {
 public:
  DropoutDefinition(double rate, const std::string& name) : RateLayer("Dropout", rate, name) {}

 protected:
  Variable drawn(const Variable& x, CallContext& context) override {
    return draws_.dropout(x, rate_, x.shape(), context);
  }
};

/// Drops whole channels of images with `axes` axes.
class SpatialDefinition : public RateLayer {
 public:
  SpatialDefinition(const std::string& type, int axes, double rate, Layout layout, const std::string& name)
      : RateLayer(type, rate, name), axes_(axes), layout_(layout) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    if (std::cmp_not_equal(inputs[0].size(), axes_ + 1))
      fail(fmt::format("takes images of {} axes and channels, but {}", axes_, to_string(inputs[0])));
    return inputs[0];
  }

 protected:
  Variable drawn(const Variable& x, CallContext& context) override {
    const int channels = layout_ == Layout::channels_last ? axes_ + 1 : 1;
    std::vector<Variable> shape(x.type().rank(), constant(Array(std::int64_t{1})));
    for (const int axis : {0, channels}) base::nth(shape, axis) = x.shape(axis);
    return draws_.dropout(x, rate_, shape, context);
  }

 private:
  int axes_;
  Layout layout_;
};

class GaussianDropoutDefinition : public RateLayer {
 public:
  GaussianDropoutDefinition(double rate, const std::string& name) : RateLayer("GaussianDropout", rate, name) {}

 protected:
  Variable drawn(const Variable& x, CallContext& context) override {
    const Variable deviation = builder::number(std::sqrt(rate_ / (1 - rate_)), x);
    return x * (builder::number(1, x) + deviation * draws_.normal(x, context));
  }
};

class NoiseDefinition : public RandomLayer {
 public:
  NoiseDefinition(double deviation, const std::string& name)
      : RandomLayer("GaussianNoise", name), deviation_(deviation) {
    if (!(deviation >= 0)) refuse(fmt::format("a deviation of {}; it is at least 0", deviation));
  }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    if (!context.training || deviation_ == 0) return inputs[0];
    const Variable x = in_floats(inputs[0].value);
    return {x + builder::number(deviation_, x) * draws_.normal(x, context), inputs[0].mask};
  }

 private:
  double deviation_;
};

}  // namespace

Dropout::Dropout(double rate, const std::string& name, Where where)
    : Layer(make_layer_at<DropoutDefinition>(where, rate, name)) {}
SpatialDropout1D::SpatialDropout1D(double rate, const std::string& name, Where where)
    : Layer(make_layer_at<SpatialDefinition>(where, "SpatialDropout1D", 1, rate, Layout::channels_last, name)) {}
SpatialDropout2D::SpatialDropout2D(double rate, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<SpatialDefinition>(where, "SpatialDropout2D", 2, rate, layout, name)) {}
SpatialDropout3D::SpatialDropout3D(double rate, Layout layout, const std::string& name, Where where)
    : Layer(make_layer_at<SpatialDefinition>(where, "SpatialDropout3D", 3, rate, layout, name)) {}
GaussianDropout::GaussianDropout(double rate, const std::string& name, Where where)
    : Layer(make_layer_at<GaussianDropoutDefinition>(where, rate, name)) {}
GaussianNoise::GaussianNoise(double deviation, const std::string& name, Where where)
    : Layer(make_layer_at<NoiseDefinition>(where, deviation, name)) {}

}  // namespace croton::nn
