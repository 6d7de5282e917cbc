// Recurrent layers: their cells, and the loop over steps, which they share.
#include <croton/nn/layers.hpp>
#include <croton/ops.hpp>
#include <croton/products.hpp>
#include <croton/scan.hpp>
#include <croton/views.hpp>

#include <fmt/format.h>

#include "base/index.hpp"
#include "builder/gradient_context.hpp"
#include "nn/draws.hpp"
#include "nn/floats.hpp"

namespace croton::nn {
namespace {

/// The k-th of the consecutive parts of `units` elements along the last axis.
Variable part(const Variable& x, std::int64_t units, int k) {
  std::vector<SliceSpec> index(x.type().rank() - 1, slice());
  index.push_back(slice(Operand(k * units), Operand((k + 1) * units)));
  return x.at(index);
}

/// Steps in the opposite order.
Variable reversed(const Variable& x) { return flip(x, std::vector<int>{1}); }

class Recurrent : public LayerDefinition {
 public:
  Recurrent(const std::string& type, std::int64_t units, int gates, int states, const RecurrentOptions& options)
      : LayerDefinition(type, options.name), units_(units), gates_(gates), states_(states), options_(options) {
    if (units < 1) refuse(fmt::format("{} units; there is at least 1", units));
    for (const double rate : {options.dropout, options.recurrent_dropout}) {
      if (!(rate >= 0 && rate < 1)) refuse(fmt::format("a rate of {}; it is at least 0 and below 1", rate));
    }
    input_shape_ = options.input_shape.shape();
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    const Shape& shape = inputs[0];
    if (shape.size() != 2) fail(fmt::format("takes (steps, features), but {}", to_string(shape)));
    if (built() && shape[1] != any_size && shape[1] != features_)
      fail(fmt::format("takes {} features, but {}", features_, to_string(shape)));
    return options_.return_sequences ? Shape{shape[0], units_} : Shape{units_};
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    features_ = inputs[0][1];
    const std::int64_t width = gates_ * units_;
    kernel_ = add_weight("kernel", {features_, width},
                         {.initializer = options_.kernel_initializer, .regularizer = options_.kernel_regularizer});
    recurrent_ =
        add_weight("recurrent_kernel", {units_, width},
                   {.initializer = options_.recurrent_initializer, .regularizer = options_.recurrent_regularizer});
    if (options_.use_bias)
      bias_ = add_weight("bias", bias_shape(),
                         {.initializer = bias_initializer(), .regularizer = options_.bias_regularizer});
    if (options_.dropout > 0 || options_.recurrent_dropout > 0)
      draws_ = Draws(add_state("state", Draws::first_state()));
  }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    Variable x = in_floats(inputs[0].value);
    const Variable batch = x.shape(0);
    if (context.training && options_.dropout > 0)  // the same mask in all steps
      x = draws_.dropout(x, options_.dropout, {batch, constant(Array(std::int64_t{1})), x.shape(2)}, context);
    Weights w{value_of(kernel_), value_of(recurrent_), options_.use_bias ? value_of(bias_) : Variable(), {}};
    // Steps first: the projection of the sequence does not depend on the states, and is computed for all steps.
    const Variable steps = projected(transpose(x, {1, 0, 2}), w);
    if (context.training && options_.recurrent_dropout > 0) {
      const Variable factors = ones({batch, Operand(units_)}, steps.dtype());
      w.state_factors = draws_.dropout(factors, options_.recurrent_dropout, {batch, constant(Array(units_))}, context);
    }
    const Variable begin = zeros({batch, Operand(units_)}, steps.dtype());
    std::vector<Sequence> sequences{steps};
    const Variable& mask = inputs[0].mask;
    if (mask.defined()) sequences.emplace_back(transpose(mask, {1, 0}));
    const std::size_t read = sequences.size();
    const ScanResult result = scan(
        [&](const std::vector<Variable>& in) {
          const std::span<const Variable> states = std::span(in).subspan(read);
          const std::vector<Variable> old(states.begin(), states.end());
          std::vector<Variable> next = step(in[0], old, w);
          if (mask.defined()) {  // steps that do not count keep the states
            const Variable counts = expand_dims(in[1], 1);
            for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(counts, next[i], old[i]);
          }
          return Step(next);
        },
        sequences, std::vector<OutputInfo>(base::to_size(states_), begin), {},
        {.go_backwards = options_.go_backwards, .name = name()});
    const Variable& all = result.outputs[0];
    if (options_.return_sequences)
      return {transpose(all, {1, 0, 2}), mask.defined() && options_.go_backwards ? reversed(mask) : mask};
    // An IndexError if there are no steps, as in reduce.
    return {all[-1]};
  }

  const RecurrentOptions& options() const { return options_; }
  /// A layer of the same type and units with other options.
  virtual Layer with_options(const RecurrentOptions& options) const = 0;

 protected:
  struct Weights {
    Variable kernel, recurrent, bias;
    Variable state_factors;  // the dropout factors of the old states; empty: 1
  };
  Variable state_of(const Variable& h, const Weights& w) const {
    return w.state_factors.defined() ? h * w.state_factors : h;
  }

  /// The part of the steps that depends on the sequence alone, from x of shape (time, batch, features).
  virtual Variable projected(const Variable& x, const Weights& w) const {
    const Variable all = dot(x, w.kernel);
    return w.bias.defined() ? all + w.bias : all;
  }
  /// The next states; the first one is the output.
  virtual std::vector<Variable> step(const Variable& x, const std::vector<Variable>& states,
                                     const Weights& w) const = 0;
  virtual Sizes bias_shape() const { return {gates_ * units_}; }
  virtual Initializer bias_initializer() const { return options_.bias_initializer; }

  std::int64_t units_, features_ = any_size;
  int gates_, states_;
  RecurrentOptions options_;
  SharedVariable kernel_, recurrent_, bias_;
  Draws draws_;
};

class SimpleDefinition : public Recurrent {
 public:
  SimpleDefinition(std::int64_t units, const RecurrentOptions& options)
      : Recurrent("SimpleRNN", units, 1, 1, options) {}

  Layer with_options(const RecurrentOptions& options) const override {
    return make_layer<SimpleDefinition>(units_, options);
  }

 protected:
  std::vector<Variable> step(const Variable& x, const std::vector<Variable>& states, const Weights& w) const override {
    return {options_.activation(x + dot(state_of(states[0], w), w.recurrent))};
  }
};

class LSTMDefinition : public Recurrent {
 public:
  LSTMDefinition(std::int64_t units, const RecurrentOptions& options) : Recurrent("LSTM", units, 4, 2, options) {}

  Layer with_options(const RecurrentOptions& options) const override {
    return make_layer<LSTMDefinition>(units_, options);
  }

 protected:
  std::vector<Variable> step(const Variable& x, const std::vector<Variable>& states, const Weights& w) const override {
    const Variable z = x + dot(state_of(states[0], w), w.recurrent);
    const auto gate = [&](int k) { return options_.recurrent_activation(part(z, units_, k)); };
    const Variable c = gate(1) * states[1] + gate(0) * options_.activation(part(z, units_, 2));
    return {gate(3) * options_.activation(c), c};
  }
  Initializer bias_initializer() const override {
    if (!options_.unit_forget_bias) return options_.bias_initializer;
    return Initializer(
        [units = units_, first = options_.bias_initializer](const Sizes& shape, DType dtype, std::uint64_t seed) {
          const Array bias = first(shape, dtype, seed).copy();
          bias.slice(0, units, 2 * units).copy_from(Array::full(dtype, {units}, 1));
          return bias;
        },
        "unit_forget_bias");
  }
};

class GRUDefinition : public Recurrent {
 public:
  GRUDefinition(std::int64_t units, const RecurrentOptions& options) : Recurrent("GRU", units, 3, 1, options) {}

  Layer with_options(const RecurrentOptions& options) const override {
    return make_layer<GRUDefinition>(units_, options);
  }

 protected:
  Sizes bias_shape() const override { return options_.reset_after ? Sizes{2, 3 * units_} : Sizes{3 * units_}; }
  Variable projected(const Variable& x, const Weights& w) const override {
    Variable all = dot(x, w.kernel);
    if (!w.bias.defined()) return all;
    return all + (options_.reset_after ? w.bias[0] : w.bias);
  }
  std::vector<Variable> step(const Variable& x, const std::vector<Variable>& states, const Weights& w) const override {
    const Variable& h = states[0];
    const Variable seen = state_of(h, w);
    const auto gate = [&](const Variable& all, int k) { return part(all, units_, k); };
    Variable z, candidate;
    if (options_.reset_after) {
      Variable inner = dot(seen, w.recurrent);
      if (w.bias.defined()) inner = inner + w.bias[1];
      z = options_.recurrent_activation(gate(x, 0) + gate(inner, 0));
      const Variable r = options_.recurrent_activation(gate(x, 1) + gate(inner, 1));
      candidate = options_.activation(gate(x, 2) + r * gate(inner, 2));
    } else {
      const Variable inner = dot(seen, w.recurrent.at({slice(), slice({}, Operand(2 * units_))}));
      z = options_.recurrent_activation(gate(x, 0) + gate(inner, 0));
      const Variable r = options_.recurrent_activation(gate(x, 1) + gate(inner, 1));
      candidate = options_.activation(gate(x, 2) + dot(r * seen, part(w.recurrent, units_, 2)));
    }
    return {z * h + (1 - z) * candidate};
  }
};

class BidirectionalDefinition : public LayerDefinition {
 public:
  BidirectionalDefinition(const Bidirectional::Make& make, const RecurrentOptions& options, const std::string& merge,
                          const std::string& name)
      : LayerDefinition("Bidirectional", name),
        merge_(merge),
        sequences_(options.return_sequences),
        forward_(make(named(options, "forward"))),
        backward_(make(backwards(options))) {
    if (merge != "concat" && merge != "sum" && merge != "mul" && merge != "ave")
      refuse(fmt::format("a merge \"{}\"; concat, sum, mul and ave are known", merge));
    input_shape_ = options.input_shape.shape();
  }
  DType output_dtype(const std::vector<DType>& inputs) const override {
    return forward_.definition().output_dtype(inputs);
  }
  Shape output_shape(const std::vector<Shape>& inputs) const override {
    Shape shape = forward_.definition().output_shape(inputs);
    if (merge_ == "concat") shape.back() *= 2;
    return shape;
  }
  void make_weights(const std::vector<Shape>& inputs) override {
    forward_.build(inputs);
    backward_.build(inputs);
  }
  std::vector<Layer> inner() const override { return {forward_, backward_}; }
  Flow call(const std::vector<Flow>& inputs, CallContext& context) override {
    const Flow forward = forward_.definition().call(inputs, context),
               back = backward_.definition().call(inputs, context);
    const Variable other = sequences_ ? reversed(back.value) : back.value;
    return {merged(forward.value, other), forward.mask};
  }

 private:
  RecurrentOptions named(RecurrentOptions options, const std::string& prefix) const {
    // Without the number of an automatic name, which would be in the names of weights in files.
    options.name = prefix + "_" + (was_named() ? name() : "bidirectional");
    return options;
  }
  RecurrentOptions backwards(const RecurrentOptions& options) const {
    RecurrentOptions result = named(options, "backward");
    result.go_backwards = !options.go_backwards;
    return result;
  }
  Variable merged(const Variable& a, const Variable& b) const {
    if (merge_ == "sum") return a + b;
    if (merge_ == "mul") return a * b;
    if (merge_ == "ave") return (a + b) * builder::number(0.5, a);
    return croton::concatenate(std::vector<Variable>{a, b}, -1);
  }

  std::string merge_;
  bool sequences_;
  Layer forward_, backward_;
};

const Recurrent& recurrent_of(const Layer& layer) {
  if (const auto* recurrent = dynamic_cast<const Recurrent*>(&layer.definition())) return *recurrent;
  throw ValueError(fmt::format(
      "Bidirectional: takes SimpleRNN, GRU or LSTM, or a function that makes a layer by options, but {} ({})",
      layer.name(), layer.type()));
}
Bidirectional::Make maker_like(const Layer& layer) {
  recurrent_of(layer);  // for its error
  return [layer](const RecurrentOptions& options) { return recurrent_of(layer).with_options(options); };
}

}  // namespace

SimpleRNN::SimpleRNN(std::int64_t units, const RecurrentOptions& options, Where where)
    : Layer(make_layer_at<SimpleDefinition>(where, units, options)) {}
GRU::GRU(std::int64_t units, const RecurrentOptions& options, Where where)
    : Layer(make_layer_at<GRUDefinition>(where, units, options)) {}
LSTM::LSTM(std::int64_t units, const RecurrentOptions& options, Where where)
    : Layer(make_layer_at<LSTMDefinition>(where, units, options)) {}
Bidirectional::Bidirectional(const Layer& layer, const std::string& merge, const std::string& name, Where where)
    : Bidirectional(maker_like(layer), recurrent_of(layer).options(), merge, name, where) {}
Bidirectional::Bidirectional(const Make& make, const RecurrentOptions& options, const std::string& merge,
                             const std::string& name, Where where)
    : Layer(make_layer_at<BidirectionalDefinition>(where, make, options, merge, name)) {}

}  // namespace croton::nn
