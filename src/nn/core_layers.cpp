// Dense, embeddings, masking, and layers that only move elements.
#include <croton/indexing.hpp>
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "nn/floats.hpp"
#include "nn/simple.hpp"

namespace croton::nn {
namespace {

/// The number of elements of a shape; any_size if one of its sizes is.
std::int64_t count_of(const Shape& shape) {
  if (std::ranges::find(shape, any_size) != shape.end()) return any_size;
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

class DenseDefinition : public LayerDefinition {
 public:
  DenseDefinition(std::int64_t units, const DenseOptions& options)
      : LayerDefinition("Dense", options.name), units_(units), options_(options) {
    if (units < 1) refuse(fmt::format("{} units; there is at least 1", units));
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape shape = inputs[0];
    if (shape.empty()) fail("takes at least one axis after the batch: put Flatten or Reshape before it");
    if (built() && shape.back() != any_size && shape.back() != inputs_)
      fail(fmt::format("takes {} features along the last axis, but {}", inputs_, to_string(shape)));
    shape.back() = units_;
    return shape;
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    inputs_ = inputs[0].back();
    kernel_ = add_weight("kernel", {inputs_, units_},
                         {.initializer = options_.kernel_initializer, .regularizer = options_.kernel_regularizer});
    if (options_.use_bias)
      bias_ = add_weight("bias", {units_},
                         {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    Variable y = dot(in_floats(inputs[0].value), value_of(kernel_));
    if (options_.use_bias) y = y + value_of(bias_);
    return {options_.activation(y), inputs[0].mask};
  }

 private:
  std::int64_t units_, inputs_ = 0;
  DenseOptions options_;
  SharedVariable kernel_, bias_;
};

class EmbeddingDefinition : public LayerDefinition {
 public:
  EmbeddingDefinition(std::int64_t rows, std::int64_t width, const EmbeddingOptions& options)
      : LayerDefinition("Embedding", options.name), rows_(rows), width_(width), options_(options) {
    if (rows < 1 || width < 1) refuse(fmt::format("a table of {} rows of {}; both are at least 1", rows, width));
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape shape = inputs[0];
    shape.push_back(width_);
    return shape;
  }
  DType output_dtype(const std::vector<DType>&) const override { return float_dtype(); }
  DType input_dtype() const override { return DType::int64; }
  void make_weights(const std::vector<Shape>&) override {
    table_ = add_weight("embeddings", {rows_, width_},
                        {.initializer = options_.initializer, .regularizer = options_.regularizer});
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    const Variable positions = is_integer(x.dtype()) ? x : cast(x, DType::int64);
    return {nnet::embedding(value_of(table_), positions), options_.mask_zero ? neq(positions, 0) : inputs[0].mask};
  }

 private:
  std::int64_t rows_, width_;
  EmbeddingOptions options_;
  SharedVariable table_;
};

class MaskingDefinition : public Simple {
 public:
  MaskingDefinition(double value, const OptionalShape& input_shape, const std::string& name)
      : Simple("Masking", name), value_(value) {
    input_shape_ = input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    if (inputs[0].size() != 2) fail(fmt::format("takes (steps, features), but {}", to_string(inputs[0])));
    return inputs[0];
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    const Variable counts = croton::any(neq(x, builder::number(value_, x)), ReduceOptions(-1));
    return {where(expand_dims(counts, -1), x, zeros_like(x)), counts};
  }

 private:
  double value_;
};

class FlattenDefinition : public Simple {
 public:
  FlattenDefinition(const OptionalShape& input_shape, const std::string& name) : Simple("Flatten", name) {
    input_shape_ = input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override { return {count_of(inputs[0])}; }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    return {x.rank() == 1 ? expand_dims(x, 1) : x.rank() == 2 ? x : flatten(x, 2)};
  }
};

class ReshapeDefinition : public Simple {
 public:
  ReshapeDefinition(const Shape& shape, const OptionalShape& input_shape, const std::string& name)
      : Simple("Reshape", name), shape_(shape) {
    input_shape_ = input_shape.shape();
    if (std::ranges::count(shape, any_size) > 1)
      refuse(fmt::format("one size may be left open, but {}", to_string(shape)));
    for (const std::int64_t size : shape) {
      if (size < 0 && size != any_size) refuse(fmt::format("a size of {}; sizes are at least 0, or any_size", size));
    }
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const std::int64_t all = count_of(inputs[0]);
    Shape result = shape_;
    const auto open = std::ranges::find(result, any_size);
    if (all == any_size) return result;
    if (open == result.end()) {
      if (count_of(result) != all) fail(fmt::format("{} cannot become {}", to_string(inputs[0]), to_string(shape_)));
      return result;
    }
    *open = 1;
    const std::int64_t others = count_of(result);
    if (others == 0 || all % others != 0)
      fail(fmt::format("{} cannot become {}", to_string(inputs[0]), to_string(shape_)));
    *open = all / others;
    return result;
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    std::vector<Operand> sizes{x.shape(0)};
    const Shape to = output_shape({Shape(x.type().shape.begin() + 1, x.type().shape.end())});
    for (const std::int64_t size : to) {
      if (size != any_size) {
        sizes.emplace_back(size);
        continue;
      }
      // A quotient of sizes: the number of elements of an empty batch does not determine the size.
      Variable all = constant(Array(std::int64_t{1}));
      for (int axis = 1; axis < x.rank(); ++axis) all = all * x.shape(axis);
      Shape others = to;
      std::erase(others, any_size);
      sizes.emplace_back(floor_divide(all, std::max<std::int64_t>(count_of(others), 1)));
    }
    return {reshape(x, sizes)};
  }

 private:
  Shape shape_;
};

class PermuteDefinition : public Simple {
 public:
  PermuteDefinition(const std::vector<int>& order, const std::string& name) : Simple("Permute", name), order_(order) {
    std::vector<int> sorted = order;
    std::ranges::sort(sorted);
    for (int next = 1; const int axis : sorted) {
      if (axis != next++) refuse("the order has each axis once, counted from 1");
    }
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    if (inputs[0].size() != order_.size())
      fail(fmt::format("an order of {} axes for {}", order_.size(), to_string(inputs[0])));
    Shape result;
    for (const int axis : order_) result.push_back(base::nth(inputs[0], axis - 1));
    return result;
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    std::vector<int> axes{0};
    axes.insert(axes.end(), order_.begin(), order_.end());
    return {transpose(inputs[0].value, axes)};
  }

 private:
  std::vector<int> order_;
};

class RepeatDefinition : public Simple {
 public:
  RepeatDefinition(std::int64_t times, const std::string& name) : Simple("RepeatVector", name), times_(times) {
    if (times < 1) refuse(fmt::format("{} times; it is at least 1", times));
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    if (inputs[0].size() != 1) fail(fmt::format("takes (features), but {}", to_string(inputs[0])));
    return {times_, inputs[0][0]};
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const Variable& x = inputs[0].value;
    return {broadcast_to(expand_dims(x, 1), {x.shape(0), Operand(times_), x.shape(1)})};
  }

 private:
  std::int64_t times_;
};

class LambdaDefinition : public Simple {
 public:
  LambdaDefinition(std::function<Variable(const Variable&)> function, std::function<Shape(const Shape&)> shape,
                   const std::string& name)
      : Simple("Lambda", name), function_(std::move(function)), shape_(std::move(shape)) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override { return shape_ ? shape_(inputs[0]) : inputs[0]; }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    const auto without_batch = [](const Variable& x) {
      return Shape(x.type().shape.begin() + 1, x.type().shape.end());
    };
    const Variable y = function_(inputs[0].value);
    const Shape stated = output_shape({without_batch(inputs[0].value)});
    bool fits = y.type().rank() == stated.size() + 1;
    for (std::size_t axis = 0; fits && axis < stated.size(); ++axis) {
      const std::int64_t size = without_batch(y)[axis];
      fits = size == any_size || stated[axis] == any_size || size == stated[axis];
    }
    if (!fits)
      fail(fmt::format("returns {}, where its shape without the batch must be {}", builder::describe(y),
                       to_string(stated)));
    return {y, inputs[0].mask};
  }

 private:
  std::function<Variable(const Variable&)> function_;
  std::function<Shape(const Shape&)> shape_;
};

}  // namespace

Dense::Dense(std::int64_t units, const DenseOptions& options, Where where)
    : Layer(make_layer_at<DenseDefinition>(where, units, options)) {}
Embedding::Embedding(std::int64_t rows, std::int64_t width, const EmbeddingOptions& options, Where where)
    : Layer(make_layer_at<EmbeddingDefinition>(where, rows, width, options)) {}
Masking::Masking(double value, OptionalShape input_shape, const std::string& name, Where where)
    : Layer(make_layer_at<MaskingDefinition>(where, value, input_shape, name)) {}
Flatten::Flatten(OptionalShape input_shape, const std::string& name, Where where)
    : Layer(make_layer_at<FlattenDefinition>(where, input_shape, name)) {}
Reshape::Reshape(const Shape& shape, OptionalShape input_shape, const std::string& name, Where where)
    : Layer(make_layer_at<ReshapeDefinition>(where, shape, input_shape, name)) {}
Permute::Permute(const std::vector<int>& order, const std::string& name, Where where)
    : Layer(make_layer_at<PermuteDefinition>(where, order, name)) {}
RepeatVector::RepeatVector(std::int64_t times, const std::string& name, Where where)
    : Layer(make_layer_at<RepeatDefinition>(where, times, name)) {}
Lambda::Lambda(std::function<Variable(const Variable&)> function, std::function<Shape(const Shape&)> shape,
               const std::string& name, Where where)
    : Layer(make_layer_at<LambdaDefinition>(where, std::move(function), std::move(shape), name)) {}

}  // namespace croton::nn
