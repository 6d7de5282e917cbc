#include "cases.hpp"

#include <croton/nn.hpp>

#include <algorithm>
#include <cmath>

#include "inputs.hpp"

namespace bench {

namespace ct = croton;
namespace nn = ct::nn;
using ct::Array;
using ct::Variable;
using Arrays = std::vector<Array>;

namespace {

Variable axpy_chain(const Variable& x) { return ct::tanh(1.5 * x + 0.25) * ct::sigmoid(x) + ct::exp(-x * x); }

/// `nodes` elementwise operations, every second of which reads the result of an older tanh too.
Variable fan_out(const Variable& x, std::int64_t nodes) {
  std::vector<Variable> v{x};
  for (std::int64_t i = 1; i <= nodes; ++i) {
    const Variable& p = v.back();
    const std::int64_t back = 1 + (7 * i) % 8;
    const Variable& q =
        v[static_cast<std::size_t>(i % 4 == 1 ? 0 : 1 + 4 * std::max<std::int64_t>(0, (i - 1) / 4 - back))];
    v.push_back(i % 4 == 1 ? ct::tanh(p) : i % 4 == 2 ? p * q : i % 4 == 3 ? p - q : p + q);
  }
  return v.back();
}

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta) {
  return ct::nnet::layer_norm(x, 1e-5) * gamma + beta;
}

Case of_function(const ct::Function& f, Arrays inputs) {
  switch (inputs.size()) {
    case 0:
      return {f, [f] { return f(); }, {}};
    case 1:
      return {f, [f, x = inputs[0]] { return f(x); }, {}};
    case 2:
      return {f, [f, in = std::move(inputs)] { return f(in[0], in[1]); }, {}};
    default:
      return {f, [f, in = std::move(inputs)] { return f(in[0], in[1], in[2]); }, {}};
  }
}

Case of_one(const Arrays& inputs, const std::function<Variable(const Variable&)>& expression) {
  const Variable x = inputs[0].rank() == 1 ? ct::vector("x") : ct::matrix("x");
  return of_function(ct::function({x}, expression(x)), inputs);
}

Case black_scholes(const Arrays& inputs) {
  const double rate = 0.02, volatility = 0.3;
  const Variable s = ct::dvector("s"), k = ct::dvector("k"), t = ct::dvector("t");
  // Numbers in expressions are floatX; float64 ones need an explicit dtype.
  const auto number = [](double value) { return ct::constant(Array(value)); };
  const Variable root = number(volatility) * ct::sqrt(t);
  const Variable d1 = (ct::log(s / k) + number(rate + 0.5 * volatility * volatility) * t) / root;
  const auto normal = [&](const Variable& d) { return number(0.5) * (1 + ct::erf(d * number(std::sqrt(0.5)))); };
  const Variable discounted = k * ct::exp(number(-rate) * t);
  const Variable call = s * normal(d1) - discounted * normal(d1 - root);
  return of_function(ct::function({s, k, t}, {call, call - s + discounted}), inputs);
}

/// A step of gradient descent: `loss` of the inputs, and the weights updated in place.
Case training_step(const Variable& x, const Variable& y, const Variable& loss, std::vector<ct::SharedVariable> weights,
                   double rate, const Arrays& inputs) {
  const std::vector<Variable> wrt(weights.begin(), weights.end());
  const std::vector<Variable> slopes = ct::grad(loss, wrt);
  ct::FunctionOptions options;
  for (std::size_t i = 0; i < wrt.size(); ++i) options.updates.emplace_back(wrt[i], wrt[i] - rate * slopes[i]);
  const ct::Function f = ct::function({x, y}, loss, options);
  const Array& data = inputs[inputs.size() - 2];
  return {f, [f, data, targets = inputs.back()] { return f(data, targets); }, std::move(weights)};
}

Case mlp_step(const Arrays& inputs) {
  const Variable x = ct::matrix("x"), y = ct::lvector("y");
  const ct::SharedVariable w1 = ct::shared(inputs[0]), w2 = ct::shared(inputs[1]), w3 = ct::shared(inputs[2]);
  const Variable hidden = ct::nnet::relu(ct::dot(ct::nnet::relu(ct::dot(x, w1)), w2));
  const Variable p = ct::nnet::softmax(ct::dot(hidden, w3));
  return training_step(x, y, ct::mean(ct::nnet::categorical_crossentropy(p, y)), {w1, w2, w3}, 0.1, inputs);
}

Case logreg_step(const Arrays& inputs) {
  const Variable x = ct::matrix("x"), y = ct::lvector("y");
  const ct::SharedVariable w = ct::shared(inputs[0]), b = ct::shared(inputs[1]);
  const Variable p = ct::nnet::softmax(ct::dot(x, w) + b);
  return training_step(x, y, ct::mean(ct::nnet::categorical_crossentropy(p, y)), {w, b}, 0.13, inputs);
}

/// The last state h of an LSTM over x (batch, time, features), with the gates i, f, c and o in adjacent columns of w, u
/// and b. The compiler must find the work that can be done for all steps at once.
Variable lstm(const Variable& x, const Variable& w, const Variable& u, const Variable& b) {
  constexpr int size = 64;
  const auto gate = [](const Variable& z, int k) { return z.at({ct::slice(), ct::slice(k * size, (k + 1) * size)}); };
  const Variable zero = ct::zeros({x.shape(0), size});
  const ct::ScanResult states = ct::scan(
      [&](const std::vector<Variable>& in) {  // x_t, h, c
        const Variable z = ct::dot(in[0], w) + ct::dot(in[1], u) + b;
        const Variable c = ct::sigmoid(gate(z, 1)) * in[2] + ct::sigmoid(gate(z, 0)) * ct::tanh(gate(z, 2));
        return ct::Step{ct::sigmoid(gate(z, 3)) * ct::tanh(c), c};
      },
      {ct::dimshuffle(x, {1, 0, 2})}, {zero, zero});
  return states.outputs[0][-1];
}

Case lstm_forward(const Arrays& inputs) {
  const Variable x = ct::tensor3("x");
  const Variable h = lstm(x, ct::shared(inputs[0]), ct::shared(inputs[1]), ct::shared(inputs[2]));
  return of_function(ct::function({x}, h), {inputs[3]});
}

Case lstm_step(const Arrays& inputs) {
  const Variable x = ct::tensor3("x"), target = ct::matrix("target");
  const ct::SharedVariable w = ct::shared(inputs[0]), u = ct::shared(inputs[1]), b = ct::shared(inputs[2]);
  return training_step(x, target, ct::mean(ct::sqr(lstm(x, w, u, b) - target)), {w, u, b}, 0.1, inputs);
}

/// A step of Adam on a convolution with relu, the maximum over all places, and a dense layer, written with layers.
Case cnn_step(const Arrays& inputs) {
  const nn::Sequential model{
      nn::Conv2D(32, 3,
                 {.activation = "relu",
                  .kernel_initializer = nn::values_of(inputs[0]),
                  .bias_initializer = nn::values_of(inputs[1]),
                  .input_shape = {28, 28, 1}}),
      nn::GlobalMaxPooling2D(),
      nn::Dense(10, {.kernel_initializer = nn::values_of(inputs[2]), .bias_initializer = nn::values_of(inputs[3])})};
  const Variable x = ct::tensor4("x"), y = ct::lvector("y");
  const Variable loss = nn::SparseCategoricalCrossentropy({.from_logits = true})(y, model(x));
  const ct::Function f =
      ct::function({x, y}, loss, {.updates = nn::Adam().minimize(loss, model.trainable_variables())});
  return {f, [f, data = inputs[4], targets = inputs[5]] { return f(data, targets); }, model.trainable_variables()};
}

/// A^10 + B^10, with nine products each.
Case matpow(const Arrays& inputs) {
  const Variable a = ct::matrix("a"), b = ct::matrix("b");
  Variable p = a, q = b;
  for (int i = 1; i < 10; ++i) {
    p = ct::dot(p, a);
    q = ct::dot(q, b);
  }
  return of_function(ct::function({a, b}, p + q), inputs);
}

Case layernorm_rows(const Arrays& inputs) {
  const Variable x = ct::matrix("x"), gamma = ct::vector("gamma"), beta = ct::vector("beta");
  return of_function(ct::function({x, gamma, beta}, layer_norm(x, gamma, beta)), inputs);
}

}  // namespace

std::vector<Array> case_inputs(std::string_view name) {
  if (name.starts_with("call_")) return {Array{1.f, 2.f, 3.f}};
  std::vector<Array> arrays;
  for (const Input& input : inputs_of(name)) arrays.push_back(array_of(input));
  return arrays;
}

Case make_case(std::string_view name, const Arrays& inputs) {
  if (name.starts_with("axpy_chain_")) return of_one(inputs, axpy_chain);
  if (name.starts_with("graph_")) {
    return of_one(inputs, [&](const Variable& x) { return fan_out(x, size_in_name(name)); });
  }
  if (name == "black_scholes") return black_scholes(inputs);
  if (name == "softmax_rows") return of_one(inputs, [](const Variable& x) { return ct::nnet::softmax(x, 1); });
  if (name == "layernorm_rows") return layernorm_rows(inputs);
  if (name == "reduce_sum_0") return of_one(inputs, [](const Variable& x) { return ct::sum(x, 0); });
  if (name == "reduce_sum_1") return of_one(inputs, [](const Variable& x) { return ct::sum(x, 1); });
  if (name == "reduce_sum_all") return of_one(inputs, [](const Variable& x) { return ct::sum(x); });
  if (name == "transpose_add") return of_one(inputs, [](const Variable& x) { return x + x.T(); });
  if (name == "matpow") return matpow(inputs);
  if (name == "mlp_step") return mlp_step(inputs);
  if (name == "logreg_step") return logreg_step(inputs);
  if (name == "cnn_step") return cnn_step(inputs);
  if (name == "lstm_forward") return lstm_forward(inputs);
  if (name == "lstm_step") return lstm_step(inputs);
  if (name == "call_arg") return of_one(inputs, [](const Variable& x) { return x * 2; });
  if (name == "call_shared") return of_function(ct::function({}, ct::shared(inputs[0]) * 2), {});
  throw std::invalid_argument("no workload is called " + std::string(name));
}

}  // namespace bench
