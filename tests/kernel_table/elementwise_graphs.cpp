// Graphs in which no element depends on a neighbour, and updates of parameters.
#include <utility>

#include "graphs.hpp"

namespace croton::kernel_table {
namespace {

constexpr std::int64_t n = 100'000'000, side = 8192;
constexpr double float_bytes = 4, half_bytes = 2;

/// Tensors like those of a small transformer with two layers: 52.8 million parameters in 28 tensors of 768 to 38.6
/// million.
std::vector<Sizes> transformer() {
  constexpr std::int64_t d = 768;
  std::vector<Sizes> shapes{{50257, d}, {1024, d}, {d}, {d}};
  const std::vector<Sizes> layer{{d}, {d}, {d, 3 * d}, {3 * d}, {d, d},     {d},
                                 {d}, {d}, {d, 4 * d}, {4 * d}, {4 * d, d}, {d}};
  for (int i = 0; i < 2; ++i) shapes.insert(shapes.end(), layer.begin(), layer.end());
  return shapes;
}

double elements_of(const std::vector<Sizes>& shapes) {
  double sum = 0;
  for (const Sizes& shape : shapes) {
    double size = 1;
    for (const std::int64_t s : shape) size *= static_cast<double>(s);
    sum += size;
  }
  return sum;
}

/// v = 0.9 v - 0.1 g; p = p + v for each tensor. The gradients are shared variables, too.
NamedGraph momentum(std::string name, std::string work, const std::vector<Sizes>& shapes) {
  FunctionOptions options;
  for (const Sizes& shape : shapes) {
    const SharedVariable p = unbacked(DType::float32, shape, "p"), v = unbacked(DType::float32, shape, "v"),
                         g = unbacked(DType::float32, shape, "g");
    const Variable velocity = 0.9 * v - 0.1 * g;
    options.updates.emplace_back(v, velocity);
    options.updates.emplace_back(p, p + velocity);
  }
  return {std::move(name),
          std::move(work),
          function({}, OutputList(std::vector<Variable>{}), options),
          {},
          5 * float_bytes * elements_of(shapes)};
}

/// p = p - 0.1 g min(1, 1 / norm), where norm is that of all gradients.
NamedGraph clipped(const std::vector<Sizes>& shapes) {
  std::vector<SharedVariable> gradients;
  for (const Sizes& shape : shapes) gradients.push_back(unbacked(DType::float32, shape, "g"));
  Variable squares = sum(sqr(gradients[0]));
  for (std::size_t i = 1; i < shapes.size(); ++i) squares = squares + sum(sqr(gradients[i]));
  const Variable rate = 0.1 / maximum(sqrt(squares), 1);
  FunctionOptions options;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const SharedVariable p = unbacked(DType::float32, shapes[i], "p");
    options.updates.emplace_back(p, p - rate * gradients[i]);
  }
  return {"clipped updates of many",
          "updates by gradients that are clipped by their norm, for the tensors of a small transformer",
          function({}, OutputList(std::vector<Variable>{}), options),
          {},
          4 * float_bytes * elements_of(shapes)};
}

NamedGraph add_of(DType dtype, const std::string& name) {
  const Variable x = vector("x", dtype), y = vector("y", dtype);
  return {name, "x + y of 1e8 elements", function({x, y}, x + y), {{n}, {n}}, 3 * half_bytes * n};
}

}  // namespace

NamedGraph adam(const std::vector<Sizes>& shapes) {
  const Variable step = unbacked(DType::float32, {}, "step"), next = step + 1;
  const Variable rate = 1e-3 * sqrt(1 - pow(0.999, next)) / (1 - pow(0.9, next));
  FunctionOptions options;
  options.updates.emplace_back(step, next);
  for (const Sizes& shape : shapes) {
    const SharedVariable p = unbacked(DType::float32, shape, "p"), m = unbacked(DType::float32, shape, "m"),
                         v = unbacked(DType::float32, shape, "v"), g = unbacked(DType::float32, shape, "g");
    const Variable mean = 0.9 * m + 0.1 * g, square = 0.999 * v + 0.001 * g * g;
    options.updates.emplace_back(m, mean);
    options.updates.emplace_back(v, square);
    options.updates.emplace_back(p, p - rate * mean / (sqrt(square) + 1e-7));
  }
  return {"Adam of many",
          "a step of Adam for the tensors of a small transformer",
          function({}, OutputList(std::vector<Variable>{}), options),
          {},
          7 * float_bytes * elements_of(shapes)};
}

void add_elementwise_graphs(std::vector<NamedGraph>& graphs) {
  const Variable x = vector("x"), y = vector("y"), m = matrix("m");
  graphs.push_back(
      {"copy", "-x of 1e8 elements: one operand read, one written", function({x}, -x), {{n}}, 2 * float_bytes * n});
  graphs.push_back({"add", "x + y of 1e8 elements", function({x, y}, x + y), {{n}, {n}}, 3 * float_bytes * n});
  graphs.push_back(add_of(DType::float16, "add float16"));
  graphs.push_back(add_of(DType::bfloat16, "add bfloat16"));
  graphs.push_back({"add misaligned",
                    "x[1:] + y[:-1], so that one operand is off by 4 bytes",
                    function({x, y}, x.at({slice(1)}) + y.at({slice({}, -1)})),
                    {{n}, {n}},
                    3 * float_bytes * (n - 1)});
  graphs.push_back({"add strided",
                    "x[::2] + y: every second element of one operand",
                    function({x, y}, x.at({slice({}, {}, 2)}) + y),
                    {{n}, {n / 2}},
                    3 * float_bytes * (n / 2),
                    Kind::recorded});
  graphs.push_back({"add of a row",
                    "x + b, a matrix of 8192 x 8192 and a vector along its rows",
                    function({m, x}, m + x),
                    {{side, side}, {side}},
                    2 * float_bytes * side * side});
  graphs.push_back({"axpy chain",
                    "tanh(1.5 x + 0.25) sigmoid(x) + exp(-x x) of 1e8 elements",
                    function({x}, tanh(1.5 * x + 0.25) * sigmoid(x) + exp(-x * x)),
                    {{n}},
                    2 * float_bytes * n});
  graphs.push_back(momentum("momentum", "v = 0.9 v - 0.1 g, p = p + v of 25 million elements", {{5000, 5000}}));
  graphs.push_back(momentum("momentum of many", "the same for the tensors of a small transformer", transformer()));
  graphs.push_back(adam(transformer()));
  graphs.push_back(clipped(transformer()));
}

}  // namespace croton::kernel_table
