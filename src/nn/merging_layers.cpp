// Layers of several inputs.
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include <limits>

#include "nn/axes.hpp"
#include "nn/floats.hpp"
#include "nn/lengths.hpp"

namespace croton::nn {
namespace {

/// The conjunction of the masks of all inputs that have one.
Variable common_mask(const std::vector<Flow>& inputs) {
  Variable mask;
  for (const Flow& input : inputs) {
    if (input.mask.defined()) mask = mask.defined() ? mask & input.mask : input.mask;
  }
  return mask;
}

class Merging : public LayerDefinition {
 public:
  using LayerDefinition::LayerDefinition;
  std::pair<std::size_t, std::size_t> arity() const override { return {2, std::numeric_limits<std::size_t>::max()}; }
  DType output_dtype(const std::vector<DType>& inputs) const override {
    DType dtype = inputs[0];
    for (const DType other : inputs) dtype = promote(dtype, other);
    return dtype;
  }
};

class ConcatenateDefinition : public Merging {
 public:
  ConcatenateDefinition(int axis, const std::string& name) : Merging("Concatenate", name), axis_(axis) {
    if (axis == 0) refuse("axis 0 is the batch, along which nothing is joined");
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape result = inputs[0];
    const std::size_t at = position(result.size());
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i].size() != result.size()) fail(refusal(inputs));
      for (std::size_t axis = 0; axis < result.size(); ++axis) {
        std::int64_t& size = result[axis];
        const std::int64_t other = inputs[i][axis];
        if (axis == at) {
          size = size == any_size || other == any_size ? any_size : size + other;
        } else if (size == any_size) {
          size = other;
        } else if (other != any_size && other != size) {
          fail(refusal(inputs));
        }
      }
    }
    return result;
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    std::vector<Variable> values, masks;
    bool is_masked = false;
    for (const Flow& input : inputs) {
      values.push_back(input.value);
      is_masked = is_masked || input.mask.defined();
    }
    const bool along_steps = position(values[0].type().rank() - 1) == 0;
    if (!is_masked || !along_steps) return {concatenate(values, axis_), common_mask(inputs)};
    for (const Flow& input : inputs)
      masks.push_back(input.mask.defined() ? input.mask
                                           : ones({input.value.shape(0), input.value.shape(1)}, DType::bool_));
    return {concatenate(values, axis_), concatenate(masks, 1)};
  }

 private:
  std::size_t position(std::size_t rank) const {
    const std::optional<std::size_t> at = axis_after_batch(axis_, rank);
    if (!at) fail(fmt::format("no axis {} in {} axes and the batch", axis_, rank));
    return *at;
  }
  std::string refusal(const std::vector<Shape>& inputs) const {
    std::string text;
    for (const Shape& shape : inputs) text += (text.empty() ? "" : ", ") + to_string(shape);
    return fmt::format("sizes must be equal except along axis {}: {}", axis_, text);
  }
  int axis_;
};

/// An elementwise function of all inputs.
class ElementwiseDefinition : public Merging {
 public:
  using Function = std::function<Variable(const std::vector<Variable>&)>;
  ElementwiseDefinition(const std::string& type, Function function, const std::string& name, bool exactly_two = false)
      : Merging(type, name), function_(std::move(function)), exactly_two_(exactly_two) {}
  std::pair<std::size_t, std::size_t> arity() const override {
    return exactly_two_ ? std::pair<std::size_t, std::size_t>{2, 2} : Merging::arity();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape result = inputs[0];
    for (const Shape& other : inputs) {
      if (other.size() != result.size())
        fail(fmt::format("takes inputs with equally many axes, but {} and {}", to_string(result), to_string(other)));
      for (std::size_t axis = 0; axis < result.size(); ++axis) {
        if (result[axis] == 1 || result[axis] == any_size) {
          result[axis] = other[axis] == 1 ? result[axis] : other[axis];
        } else if (other[axis] != 1 && other[axis] != any_size && other[axis] != result[axis]) {
          fail(fmt::format("sizes must be equal, or 1: {} and {}", to_string(inputs[0]), to_string(other)));
        }
      }
    }
    return result;
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    std::vector<Variable> values;
    values.reserve(inputs.size());
    for (const Flow& input : inputs) values.push_back(input.value);
    return {function_(values), common_mask(inputs)};
  }

 private:
  Function function_;
  bool exactly_two_;
};

class DotDefinition : public Merging {
 public:
  DotDefinition(const PerAxis& axes, const DotOptions& options)
      : Merging("Dot", options.name), axes_(axes.numbers()), normalize_(options.normalize) {
    if (axes_.empty() || axes_.size() > 2)
      refuse(fmt::format("{} axes; one is for both inputs, or one each", axes_.size()));
    for (const std::int64_t axis : axes_) {
      if (axis == 0) refuse("axis 0 is the batch, along which nothing is added up");
    }
  }
  std::pair<std::size_t, std::size_t> arity() const override { return {2, 2}; }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape result;
    std::vector<std::int64_t> summed;
    for (std::size_t k = 0; k < 2; ++k) {
      Shape rest = inputs[k];
      const auto at = rest.begin() + position(k, rest.size());
      summed.push_back(*at);
      rest.erase(at);
      result.insert(result.end(), rest.begin(), rest.end());
    }
    if (summed[0] != summed[1] && summed[0] != any_size && summed[1] != any_size)
      fail(fmt::format("axes {} of {} and {} of {} have different sizes", axes_.front(), to_string(inputs[0]),
                       axes_.back(), to_string(inputs[1])));
    return result.empty() ? Shape{1} : result;
  }
  DType output_dtype(const std::vector<DType>& inputs) const override {
    const auto as_float = [](DType dtype) { return is_float(dtype) ? dtype : float_dtype(); };
    return promote(as_float(inputs[0]), as_float(inputs[1]));
  }
  Flow call(const std::vector<Flow>& inputs, CallContext&) override {
    std::vector<Variable> x;
    std::vector<int> axes;
    for (std::size_t k = 0; k < 2; ++k) {
      x.push_back(in_floats(inputs[k].value));
      axes.push_back(position(k, x[k].type().rank() - 1) + 1);
      if (normalize_) x[k] = unit_along(x[k], {axes[k]});
    }
    const Variable y = batched_tensordot(x[0], x[1], std::vector<int>{axes[0]}, std::vector<int>{axes[1]});
    return {y.rank() == 1 ? expand_dims(y, 1) : y};
  }

 private:
  /// The position of the k-th input's axis in its shape without the batch.
  int position(std::size_t k, std::size_t rank) const {
    const std::int64_t axis = k == 0 ? axes_.front() : axes_.back();
    const std::optional<std::size_t> at = axis_after_batch(axis, rank);
    if (!at) fail(fmt::format("no axis {} in {} axes and the batch", axis, rank));
    return base::to_int(*at);
  }
  std::vector<std::int64_t> axes_;
  bool normalize_;
};

template <class F>
ElementwiseDefinition::Function folded(F f) {
  return [f](const std::vector<Variable>& x) {
    Variable result = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) result = f(result, x[i]);
    return result;
  };
}

}  // namespace

Concatenate::Concatenate(int axis, const std::string& name, Where where)
    : Layer(make_layer_at<ConcatenateDefinition>(where, axis, name)) {}
Add::Add(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Add", folded([](const Variable& a, const Variable& b) { return a + b; }), name)) {}
Subtract::Subtract(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Subtract", folded([](const Variable& a, const Variable& b) { return a - b; }), name, true)) {}
Multiply::Multiply(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Multiply", folded([](const Variable& a, const Variable& b) { return a * b; }), name)) {}
Average::Average(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Average", [](const std::vector<Variable>& x) { return add_n(x) / static_cast<double>(x.size()); },
          name)) {}
Maximum::Maximum(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Maximum", folded([](const Variable& a, const Variable& b) { return maximum(a, b); }), name)) {}
Minimum::Minimum(const std::string& name, Where where)
    : Layer(make_layer_at<ElementwiseDefinition>(
          where, "Minimum", folded([](const Variable& a, const Variable& b) { return minimum(a, b); }), name)) {}
Dot::Dot(const PerAxis& axes, const DotOptions& options, Where where)
    : Layer(make_layer_at<DotDefinition>(where, axes, options)) {}

Tensor operator+(const Tensor& a, const Tensor& b) { return Add({}, a.node().where)({a, b}, a.node().where); }
Tensor operator-(const Tensor& a, const Tensor& b) { return Subtract({}, a.node().where)({a, b}, a.node().where); }
Tensor operator*(const Tensor& a, const Tensor& b) { return Multiply({}, a.node().where)({a, b}, a.node().where); }
Tensor concatenate(const std::vector<Tensor>& x, int axis, Where where) {
  return Concatenate(axis, {}, where)(x, where);
}
Tensor add(const std::vector<Tensor>& x, Where where) { return Add({}, where)(x, where); }

}  // namespace croton::nn
