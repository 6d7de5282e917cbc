// Normalisation layers.
#include <croton/nn/layers.hpp>
#include <croton/nnet_layers.hpp>
#include <croton/ops.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "builder/gradient_context.hpp"
#include "nn/axes.hpp"
#include "nn/floats.hpp"
#include "nn/lengths.hpp"

namespace croton::nn {
namespace {

/// A layer with options for axes, which are counted with the batch.
class Normalization : public LayerDefinition {
 public:
  using LayerDefinition::LayerDefinition;

 protected:
  /// The position of the axis in a shape without the batch.
  std::size_t position(int axis, std::size_t rank) const {
    const std::optional<std::size_t> at = axis_after_batch(axis, rank);
    if (!at) refuse(fmt::format("no axis {} in the batch and {} axes; the batch is not normalised", axis, rank));
    return *at;
  }
};

/// x as dtype. Numbers out of float16's range become its largest number, because a running average that is infinite
/// once stays so.
Variable in_range(const Variable& x, DType dtype) {
  if (dtype != DType::float16) return cast(x, dtype);
  return cast(clip(x, builder::number(-65504, x), builder::number(65504, x)), dtype);
}

class BatchNormDefinition : public Normalization {
 public:
  explicit BatchNormDefinition(const BatchNormalizationOptions& options)
      : Normalization("BatchNormalization", options.name), options_(options) {
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const std::int64_t size = inputs[0].at(position(options_.axis, inputs[0].size()));
    if (built() && size != any_size && size != size_)
      fail(fmt::format("takes {} channels, but {}", size_, to_string(inputs[0])));
    return inputs[0];
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    size_ = inputs[0].at(position(options_.axis, inputs[0].size()));
    if (options_.scale) gamma_ = add_weight("gamma", {size_}, {.initializer = "ones"});
    if (options_.center) beta_ = add_weight("beta", {size_}, {.initializer = "zeros"});
    mean_ = add_weight("moving_mean", {size_}, {.initializer = "zeros", .trainable = false});
    variance_ = add_weight("moving_variance", {size_}, {.initializer = "ones", .trainable = false});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    const Variable x = in_floats(inputs[0].value);
    const std::size_t rank = x.type().rank();
    const int channels = base::to_int(position(options_.axis, rank - 1)) + 1;
    std::vector<int> axes;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (axis != channels) axes.push_back(axis);
    }
    const Variable gamma = options_.scale ? value_of(gamma_) : ones({size_}, x.dtype());
    const Variable beta = options_.center ? value_of(beta_) : zeros({size_}, x.dtype());
    const nnet::BatchNormOptions of{.axes = axes, .epsilon = options_.epsilon};
    if (!context.training || !trainable) {
      return {nnet::batch_norm_test(x, gamma, beta, value_of(mean_), value_of(variance_), of), inputs[0].mask};
    }
    const ReduceOptions over(axes, true);
    const Variable wide = widened(x), &mask = inputs[0].mask;
    Variable average, variance, y;
    if (mask.defined()) {
      // Of the steps that count. Not products with the mask: values that do not count may be nan.
      const Variable counts = shape_padright(mask, x.rank() - mask.rank()), none = builder::number(0, wide);
      const Variable total = sum(where(counts, ones_like(wide), none), over) + builder::number(1e-7, wide);
      average = sum(where(counts, wide, none), over) / total;
      variance = sum(sqr(where(counts, wide - average, none)), over) / total;
      std::vector<int> pattern(rank, broadcast_axis);
      base::nth(pattern, channels) = 0;
      const Variable scale = dimshuffle(gamma, pattern) / sqrt(variance + builder::number(options_.epsilon, variance));
      y = cast((wide - average) * scale + dimshuffle(beta, pattern), output_dtype({x.dtype()}));
    } else {
      // The same expressions as in batch_norm_train, so that they are computed once.
      average = mean(wide, over);
      variance = mean(sqr(wide - average), over);
      y = nnet::batch_norm_train(x, gamma, beta, of).out;
    }
    const auto update_moving = [&](const SharedVariable& moving, const Variable& now) {
      // If a layer is called several times, each call continues from the result of the call before.
      auto update = std::ranges::find(context.updates, Variable(moving), &Updates::value_type::first);
      if (update == context.updates.end()) update = context.updates.emplace(update, moving, moving);
      const Variable wide_old = widened(update->second), keep = builder::number(options_.momentum, wide_old),
                     share = builder::number(1 - options_.momentum, now);
      update->second = in_range(keep * wide_old + share * squeeze(now, axes), moving.dtype());
    };
    update_moving(mean_, average);
    update_moving(variance_, variance);
    return {y, mask};
  }

 private:
  BatchNormalizationOptions options_;
  std::int64_t size_ = any_size;
  SharedVariable gamma_, beta_, mean_, variance_;
};

class LayerNormDefinition : public Normalization {
 public:
  explicit LayerNormDefinition(const LayerNormalizationOptions& options)
      : Normalization("LayerNormalization", options.name), options_(options) {
    input_shape_ = options.input_shape.shape();
    if (options.axes.empty()) refuse("no axes");
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Sizes sizes = sizes_of(inputs[0]);
    for (std::size_t i = 0; built() && i < sizes.size(); ++i) {
      if (sizes[i] != any_size && sizes[i] != sizes_[i])
        fail(fmt::format("takes {} along its axes, but {}", to_string(sizes_), to_string(inputs[0])));
    }
    return inputs[0];
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    sizes_ = sizes_of(inputs[0]);
    if (options_.scale) gamma_ = add_weight("gamma", sizes_, {.initializer = "ones"});
    if (options_.center) beta_ = add_weight("beta", sizes_, {.initializer = "zeros"});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    std::vector<int> axes = sorted_axes(x.type().rank() - 1), pattern;
    for (int axis = 0, next = 0; axis < x.rank(); ++axis)
      pattern.push_back(std::ranges::find(axes, axis) == axes.end() ? broadcast_axis : next++);
    const ReduceOptions over(axes, true);
    const Variable wide = widened(x), centred = wide - mean(wide, over);
    Variable y = centred * rsqrt(mean(sqr(centred), over) + builder::number(options_.epsilon, wide));
    if (options_.scale) y = y * dimshuffle(value_of(gamma_), pattern);
    if (options_.center) y = y + dimshuffle(value_of(beta_), pattern);
    return {cast(y, output_dtype({x.dtype()})), inputs[0].mask};
  }

 private:
  /// The axes of the option, counted with the batch.
  std::vector<int> sorted_axes(std::size_t rank) const {
    std::vector<int> axes;
    axes.reserve(options_.axes.size());
    for (const int axis : options_.axes) axes.push_back(base::to_int(position(axis, rank)) + 1);
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end()) refuse("the same axis twice");
    return axes;
  }
  Sizes sizes_of(const Shape& shape) const {
    Sizes sizes;
    for (const int axis : sorted_axes(shape.size())) sizes.push_back(base::nth(shape, axis - 1));
    return sizes;
  }

  LayerNormalizationOptions options_;
  Sizes sizes_;
  SharedVariable gamma_, beta_;
};

/// Without `groups` each channel is a group.
class GroupNormDefinition : public LayerDefinition {
 public:
  GroupNormDefinition(const std::string& type, std::optional<std::int64_t> groups, double epsilon,
                      const std::string& name)
      : LayerDefinition(type, name), groups_(groups), epsilon_(epsilon) {
    if (groups && *groups < 1) refuse(fmt::format("{} groups; there is at least 1", *groups));
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Shape& shape = inputs[0];
    if (shape.empty()) fail("takes channels");
    if (groups_ && shape.back() != any_size && shape.back() % *groups_ != 0)
      fail(fmt::format("{} channels do not divide into {} groups", shape.back(), *groups_));
    if (built() && shape.back() != any_size && shape.back() != channels_)
      fail(fmt::format("takes {} channels, but {}", channels_, to_string(shape)));
    return shape;
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    channels_ = inputs[0].back();
    gamma_ = add_weight("gamma", {channels_}, {.initializer = "ones"});
    beta_ = add_weight("beta", {channels_}, {.initializer = "zeros"});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    return {nnet::group_norm(in_floats(inputs[0].value), groups_.value_or(channels_), Operand(value_of(gamma_)),
                             Operand(value_of(beta_)), {.epsilon = epsilon_, .layout = Layout::channels_last}),
            inputs[0].mask};
  }

 private:
  std::optional<std::int64_t> groups_;
  std::int64_t channels_ = any_size;
  double epsilon_;
  SharedVariable gamma_, beta_;
};

class RMSNormDefinition : public LayerDefinition {
 public:
  RMSNormDefinition(double epsilon, const std::string& name)
      : LayerDefinition("RMSNormalization", name), epsilon_(epsilon) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Shape& shape = inputs[0];
    if (shape.empty()) fail("takes features");
    if (built() && shape.back() != any_size && shape.back() != features_)
      fail(fmt::format("takes {} features, but {}", features_, to_string(shape)));
    return shape;
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    features_ = inputs[0].back();
    scale_ = add_weight("scale", {features_}, {.initializer = "ones"});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    const Variable wide = widened(x), square = mean(sqr(wide), ReduceOptions(std::vector<int>{-1}, true));
    const Variable y = wide * rsqrt(square + builder::number(epsilon_, wide)) * value_of(scale_);
    return {cast(y, output_dtype({x.dtype()})), inputs[0].mask};
  }

 private:
  double epsilon_;
  std::int64_t features_ = any_size;
  SharedVariable scale_;
};

class UnitNormDefinition : public Normalization {
 public:
  UnitNormDefinition(const std::vector<int>& axes, const std::string& name)
      : Normalization("UnitNormalization", name), axes_(axes) {
    if (axes.empty()) refuse("no axes");
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    for (const int axis : axes_) position(axis, inputs[0].size());
    return inputs[0];
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable x = in_floats(inputs[0].value);
    return {unit_along(x, axes_), inputs[0].mask};
  }

 private:
  std::vector<int> axes_;
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options, Where where)
    : Layer(make_layer_at<BatchNormDefinition>(where, options)) {}
LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options, Where where)
    : Layer(make_layer_at<LayerNormDefinition>(where, options)) {}
GroupNormalization::GroupNormalization(std::int64_t groups, double epsilon, const std::string& name, Where where)
    : Layer(make_layer_at<GroupNormDefinition>(where, "GroupNormalization", groups, epsilon, name)) {}
InstanceNormalization::InstanceNormalization(double epsilon, const std::string& name, Where where)
    : Layer(make_layer_at<GroupNormDefinition>(where, "InstanceNormalization", std::nullopt, epsilon, name)) {}
RMSNormalization::RMSNormalization(double epsilon, const std::string& name, Where where)
    : Layer(make_layer_at<RMSNormDefinition>(where, epsilon, name)) {}
UnitNormalization::UnitNormalization(const std::vector<int>& axes, const std::string& name, Where where)
    : Layer(make_layer_at<UnitNormDefinition>(where, axes, name)) {}

}  // namespace croton::nn
