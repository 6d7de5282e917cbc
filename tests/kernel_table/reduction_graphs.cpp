// Reductions, and functions of rows that need some.
#include <utility>

#include "graphs.hpp"

namespace croton::kernel_table {
namespace {

constexpr double float_bytes = 4;

NamedGraph softmax_of(DType dtype, std::int64_t rows, std::int64_t columns, const std::string& name) {
  const Variable x = matrix("x", dtype);
  const double bytes = 2 * static_cast<double>(size_of(dtype)) * static_cast<double>(rows * columns);
  return {name, "softmax of the rows", function({x}, nnet::softmax(x, 1)), {{rows, columns}}, bytes};
}

Variable layer_norm_of(const Variable& x, const Variable& gamma, const Variable& beta) {
  return nnet::layer_norm(x, 1e-5) * gamma + beta;
}

/// A reduction of a matrix of 16384 x 8192, or of other sizes, whose result is small.
NamedGraph reduction(std::string name, std::string work, Variable (*make)(const Variable&), std::int64_t rows = 16384,
                     std::int64_t columns = 8192) {
  const Variable x = matrix("x");
  return {std::move(name),
          std::move(work),
          function({x}, make(x)),
          {{rows, columns}},
          float_bytes * static_cast<double>(rows * columns)};
}

void add_layer_norms(std::vector<NamedGraph>& graphs) {
  constexpr std::int64_t rows = 8192, columns = 4096;
  const Variable x = matrix("x"), gamma = vector("gamma"), beta = vector("beta"), dy = matrix("dy");
  graphs.push_back({"layer norm",
                    "layer normalisation of the rows of 8192 x 4096, with scale and shift",
                    function({x, gamma, beta}, layer_norm_of(x, gamma, beta)),
                    {{rows, columns}, {columns}, {columns}},
                    2 * float_bytes * (rows + 1) * columns});
  const std::vector<Variable> slopes = grad(sum(layer_norm_of(x, gamma, beta) * dy), {x, gamma, beta});
  graphs.push_back({"layer norm backward",
                    "its three gradients",
                    function({x, gamma, beta, dy}, slopes, {.on_unused_input = UnusedInput::ignore}),
                    {{rows, columns}, {columns}, {columns}, {rows, columns}},
                    3 * float_bytes * (rows + 1) * columns});
}

/// Reductions over the batch and the places of maps: the elements of a channel are on two axes.
void add_channels(std::vector<NamedGraph>& graphs) {
  constexpr std::int64_t batch = 128, channels = 64, side = 56, elements = batch * channels * side * side;
  const Sizes shape{batch, channels, side, side};
  const std::vector<int> axes{0, 2, 3};
  const Variable maps = tensor4("maps"), dy = tensor4("dy");
  graphs.push_back({"channel mean",
                    "mean and variance of each channel of 128 x 64 x 56 x 56",
                    function({maps}, {mean(maps, axes), var(maps, axes)}),
                    {shape},
                    float_bytes * elements});
  const Variable kept = switch_(maps > 0, dy, 0 * dy);
  graphs.push_back({"channel bias gradient",
                    "dy where maps > 0, and its sum for each channel",
                    function({maps, dy}, {kept, sum(kept, axes)}),
                    {shape, shape},
                    3 * float_bytes * elements});
}

}  // namespace

void add_reduction_graphs(std::vector<NamedGraph>& graphs) {
  graphs.push_back(softmax_of(DType::float32, 8192, 512, "softmax 8192x512"));
  graphs.push_back(softmax_of(DType::float32, 4096, 1024, "softmax 4096x1024"));
  graphs.push_back(softmax_of(DType::float16, 4096, 1024, "softmax float16 4096x1024"));
  graphs.push_back(softmax_of(DType::bfloat16, 4096, 1024, "softmax bfloat16 4096x1024"));
  graphs.push_back(softmax_of(DType::float32, 4096, 32768, "softmax 4096x32768"));
  graphs.push_back(softmax_of(DType::float32, 128, 32768, "softmax 128x32768"));
  graphs.push_back(softmax_of(DType::float32, 4, 1'000'000, "softmax 4x1000000"));
  add_layer_norms(graphs);
  graphs.push_back(
      reduction("sum of rows", "sum over axis 1 of 16384 x 8192", [](const Variable& x) { return sum(x, 1); }));
  graphs.push_back(reduction(
      "sum of few rows", "sum over axis 1 of 8 x 16777216", [](const Variable& x) { return sum(x, 1); }, 8, 1 << 24));
  graphs.push_back(reduction("sum of columns", "sum over axis 0", [](const Variable& x) { return sum(x, 0); }));
  graphs.push_back(reduction("sum of all", "sum over both axes", [](const Variable& x) { return sum(x); }));
  graphs.push_back(reduction("max of columns", "max over axis 0", [](const Variable& x) { return max(x, 0); }));
  graphs.push_back(reduction("max of all", "max over both axes", [](const Variable& x) { return max(x); }));
  graphs.push_back(reduction("argmax of rows", "argmax over axis 1", [](const Variable& x) { return argmax(x, 1); }));
  graphs.push_back(reduction("argmax of all", "argmax over both axes", [](const Variable& x) { return argmax(x); }));
  const Variable dy = matrix("dy"), h = matrix("h");
  constexpr std::int64_t batch = 4096, units = 1024;
  graphs.push_back({"bias gradient",
                    "the sum over the batch of dy where h > 0, 4096 x 1024",
                    function({dy, h}, sum(switch_(h > 0, dy, 0 * dy), 0)),
                    {{batch, units}, {batch, units}},
                    2 * float_bytes * batch * units});
  graphs.push_back({"batch mean",
                    "mean and variance over the batch of 4096 x 1024",
                    function({h}, {mean(h, 0), var(h, 0)}),
                    {{batch, units}},
                    float_bytes * batch * units});
  add_channels(graphs);
}

}  // namespace croton::kernel_table
