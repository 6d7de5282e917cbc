#include "gpu/workloads.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cases.hpp"
#include "inputs.hpp"
#include "reference.hpp"
#include "sampling.hpp"

namespace bench::gpu {

namespace ct = croton;
using ct::Array;
using ct::DType;
using ct::SharedVariable;
using ct::Variable;

namespace {

constexpr double float_bytes = 4;

/// |got - want| / |want|, element by element; a NaN never passes.
class NormError {
 public:
  void add(double got, double want) {
    distance_ += (got - want) * (got - want);
    norm_ += want * want;
  }
  double value() const { return std::sqrt(distance_ / std::max(norm_, 1e-300)); }

 private:
  double distance_ = 0, norm_ = 0;
};

/// y = f(x) with both kept on the device.
Work map(const Array& input, const Array& output, const std::function<Variable(const Variable&)>& f) {
  const SharedVariable x = ct::shared(input, {.name = "x"}), y = ct::shared(output, {.name = "y"});
  Work work;
  const double start = now();
  work.step = ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, {.updates = {{y, f(x)}}});
  work.build_s = now() - start;
  work.results = {y};
  work.bytes = float_bytes * static_cast<double>(input.size() + output.size());
  return work;
}

Work axpy_chain(std::int64_t n) {
  const Array x = Array::uniform(DType::float32, {n}, 101, -2, 2);
  Work work = map(x, Array::zeros(DType::float32, {n}),
                  [](const Variable& v) { return ct::tanh(1.5 * v + 0.25) * ct::sigmoid(v) + ct::exp(-v * v); });
  work.error = [x, y = work.results[0]] {
    const Array got = y.get_value();
    NormError error;
    for (std::int64_t i = 0; i < x.size(); i += 101) {
      const double v = x.as_double(i);
      error.add(got.as_double(i), std::tanh(1.5 * v + 0.25) / (1 + std::exp(-v)) + std::exp(-v * v));
    }
    return error.value();
  };
  return work;
}

Work softmax_rows(std::int64_t rows) {
  constexpr std::int64_t columns = 1024;
  const Array x = Array::uniform(DType::float32, {rows, columns}, 301, -4, 4);
  Work work =
      map(x, Array::zeros(DType::float32, x.shape()), [](const Variable& v) { return ct::nnet::softmax(v, 1); });
  work.error = [x, rows, y = work.results[0]] {
    const Array got = y.get_value();
    NormError error;
    for (std::int64_t i = 0; i < rows; i += 61) {
      double total = 0;
      for (std::int64_t j = 0; j < columns; ++j) total += std::exp(x.as_double(i * columns + j));
      for (std::int64_t j = 0; j < columns; ++j) {
        error.add(got.as_double(i * columns + j), std::exp(x.as_double(i * columns + j)) / total);
      }
    }
    return error.value();
  };
  return work;
}

/// The sum over axis 0 or 1 of a matrix, or over both (-1).
Work reduce_sum(std::int64_t rows, int axis) {
  constexpr std::int64_t columns = 8192;
  const Array x = Array::uniform(DType::float32, {rows, columns}, 401, 0, 1);
  const ct::Sizes shape = axis == 0 ? ct::Sizes{columns} : axis == 1 ? ct::Sizes{rows} : ct::Sizes{};
  Work work = map(x, Array::zeros(DType::float32, shape),
                  [axis](const Variable& v) { return axis < 0 ? ct::sum(v) : ct::sum(v, axis); });
  work.error = [x, rows, axis, y = work.results[0]] {
    const Array got = y.get_value();
    std::vector<double> want(static_cast<std::size_t>(got.size()));
    const float* at = x.data<float>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        want[static_cast<std::size_t>(axis == 0 ? j : axis == 1 ? i : 0)] += *at++;
      }
    }
    NormError error;
    for (std::int64_t i = 0; i < got.size(); ++i) error.add(got.as_double(i), want[static_cast<std::size_t>(i)]);
    return error.value();
  };
  return work;
}

Work mlp_step() {
  const std::vector<Array> inputs = case_inputs("mlp_step");
  std::vector<SharedVariable> w;
  for (std::size_t i = 0; i < 3; ++i) w.push_back(ct::shared(inputs[i]));
  const SharedVariable x = ct::shared(inputs[3]), y = ct::shared(inputs[4]);
  const double start = now();
  const Variable hidden = ct::nnet::relu(ct::dot(ct::nnet::relu(ct::dot(x, w[0])), w[1]));
  const Variable loss = ct::mean(ct::nnet::categorical_crossentropy(ct::nnet::softmax(ct::dot(hidden, w[2])), y));
  const std::vector<Variable> slopes = ct::grad(loss, {w[0], w[1], w[2]});
  ct::FunctionOptions options;
  for (std::size_t i = 0; i < 3; ++i) options.updates.emplace_back(w[i], w[i] - 0.1 * slopes[i]);
  Work work;
  work.step = ct::function({}, ct::OutputList{std::vector<ct::Out>{}}, options);
  work.build_s = now() - start;
  work.results = w;
  work.flop = 8.05e9;
  work.checked_steps = bench::checked_steps;
  work.tolerance = 1e-4;
  work.error = [w] {
    const std::vector<std::vector<double>> want = bench::reference("mlp_step");  // the losses, then the weights
    double worst = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
      const Array got = w[k].get_value();
      NormError error;
      for (std::int64_t i = 0; i < got.size(); ++i)
        error.add(got.as_double(i), want[k + 1][static_cast<std::size_t>(i)]);
      worst = std::max(worst, std::isnan(error.value()) ? 1e300 : error.value());
    }
    return worst;
  };
  return work;
}

}  // namespace

std::vector<std::string> names() {
  return {"axpy_chain_1e8", "axpy_chain_1e6", "softmax_rows", "reduce_sum_0",
          "reduce_sum_1",   "reduce_sum_all", "mlp_step"};
}

Work make(std::string_view name, std::int64_t scale) {
  const auto part = [scale](std::int64_t size) { return std::max<std::int64_t>(1, size / scale); };
  if (name.starts_with("axpy_chain_")) return axpy_chain(part(size_in_name(name)));
  if (name == "softmax_rows") return softmax_rows(part(65536));
  if (name == "reduce_sum_0") return reduce_sum(part(16384), 0);
  if (name == "reduce_sum_1") return reduce_sum(part(16384), 1);
  if (name == "reduce_sum_all") return reduce_sum(part(16384), -1);
  if (name == "mlp_step") return mlp_step();
  throw std::invalid_argument("no workload is called " + std::string(name));
}

}  // namespace bench::gpu
