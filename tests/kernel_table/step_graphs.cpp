// Steps of training. Their products and convolutions are by libraries, and not in the table.
#include <croton/convolution.hpp>

#include <string>
#include <utility>

#include "graphs.hpp"

namespace croton::kernel_table {
namespace {

Variable loss_of(const Variable& logits, const Variable& y) {
  return mean(nnet::categorical_crossentropy(nnet::softmax(logits, 1), y));
}

FunctionOptions descent(const Variable& loss, const std::vector<Variable>& parameters) {
  const std::vector<Variable> slopes = grad(loss, parameters);
  FunctionOptions options;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    options.updates.emplace_back(parameters[i], parameters[i] - 0.1 * slopes[i]);
  return options;
}

}  // namespace

NamedGraph mlp_step(std::int64_t batch, const std::vector<std::int64_t>& widths) {
  const Variable x = matrix("x"), y = lvector("y");
  std::vector<Variable> parameters;
  Variable h = x;
  std::string layers;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    if (i > 0) h = nnet::relu(h);
    parameters.push_back(unbacked(DType::float32, {widths[i], widths[i + 1]}, "w" + std::to_string(i)));
    parameters.push_back(unbacked(DType::float32, {widths[i + 1]}, "b" + std::to_string(i)));
    h = dot(h, parameters[2 * i]) + parameters[2 * i + 1];
    layers += "-" + std::to_string(widths[i + 1]);
  }
  const Variable loss = loss_of(h, y);
  return {"MLP step",
          "a step of " + std::to_string(widths[0]) + layers + " with biases, batch " + std::to_string(batch),
          function({x, y}, loss, descent(loss, parameters)),
          {{batch, widths[0]}, {batch}},
          0,
          Kind::recorded};
}

NamedGraph cnn_step(std::int64_t batch, std::int64_t side) {
  const Variable x = tensor4("x"), y = lvector("y");
  const Variable filters = unbacked(DType::float32, {32, 1, 3, 3}, "filters"),
                 bias = unbacked(DType::float32, {32}, "bias"), w = unbacked(DType::float32, {32, 10}, "w"),
                 b = unbacked(DType::float32, {10}, "b");
  const Variable maps =
      nnet::relu(nnet::conv2d(x, filters) + dimshuffle(bias, {broadcast_axis, 0, broadcast_axis, broadcast_axis}));
  const Variable loss = loss_of(dot(max(maps, std::vector<int>{2, 3}), w) + b, y);
  return {"CNN step",
          "a convolution of 32 maps, relu, the maximum over all places, a dense layer; batch " + std::to_string(batch) +
              " of " + std::to_string(side) + " x " + std::to_string(side),
          function({x, y}, loss, descent(loss, {filters, bias, w, b})),
          {{batch, 1, side, side}, {batch}},
          0,
          Kind::recorded};
}

NamedGraph lstm(std::int64_t batch, std::int64_t steps, std::int64_t features, std::int64_t units) {
  const Variable x = tensor3("x");
  const Variable w = unbacked(DType::float32, {features, 4 * units}, "w"),
                 u = unbacked(DType::float32, {units, 4 * units}, "u"), b = unbacked(DType::float32, {4 * units}, "b");
  const auto gate = [&](const Variable& z, std::int64_t k) {
    return z.at({slice(), slice(k * units, (k + 1) * units)});
  };
  const Variable zero = zeros({x.shape(0), units});
  const ScanResult states = scan(
      [&](const std::vector<Variable>& in) {  // x_t, h, c
        const Variable z = dot(in[0], w) + dot(in[1], u) + b;
        const Variable c = sigmoid(gate(z, 1)) * in[2] + sigmoid(gate(z, 0)) * tanh(gate(z, 2));
        return Step{sigmoid(gate(z, 3)) * tanh(c), c};
      },
      {dimshuffle(x, {1, 0, 2})}, {zero, zero});
  return {"LSTM",
          "the last state after " + std::to_string(steps) + " steps, batch " + std::to_string(batch) + ", " +
              std::to_string(features) + " features, " + std::to_string(units) + " units",
          function({x}, states.outputs[0][-1]),
          {{batch, steps, features}},
          0,
          Kind::recorded};
}

void add_step_graphs(std::vector<NamedGraph>& graphs) {
  graphs.push_back(mlp_step(128, {784, 500, 10}));
  graphs.push_back(mlp_step(4096, {4096, 4096, 4096, 1024}));
  graphs.back().name = "big MLP step";
  graphs.push_back(cnn_step(128, 28));
  graphs.push_back(lstm(32, 100, 64, 64));
}

}  // namespace croton::kernel_table
