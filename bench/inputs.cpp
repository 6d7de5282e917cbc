#include "inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace bench {

using croton::Array;
using croton::DType;
using croton::Sizes;

namespace {

Input uniform(std::uint64_t seed, double low, double high, Sizes shape, DType dtype = DType::float32) {
  return {Input::Kind::uniform, dtype, std::move(shape), seed, low, high};
}

/// Class numbers 0 to 9.
Input targets(std::uint64_t seed, std::int64_t count) {
  return {Input::Kind::targets, DType::int64, {count}, seed, 0, 10};
}

Input zeros(Sizes shape) { return {Input::Kind::zeros, DType::float32, std::move(shape)}; }

Input forget_bias(std::int64_t size) { return {Input::Kind::forget_bias, DType::float32, {size}}; }

/// SplitMix64 (Steele, Lea, Flood 2014): value `i` of the seed, its upper 53 bits as a number in [0, 1).
double splitmix(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

std::int64_t count_of(const Sizes& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

template <class T>
Array converted(const std::vector<double>& values) {
  return Array(std::vector<T>(values.begin(), values.end()));
}

}  // namespace

std::int64_t size_in_name(std::string_view workload) {
  return static_cast<std::int64_t>(std::stod(std::string(workload.substr(workload.rfind('_') + 1))));
}

std::vector<Input> inputs_of(std::string_view name) {
  if (name.starts_with("axpy_chain_")) return {uniform(101, -2, 2, {size_in_name(name)})};
  if (name.starts_with("graph_")) return {uniform(1001, -1, 1, {1024})};
  if (name.starts_with("reduce_sum_") || name == "transpose_add") return {uniform(401, 0, 1, {4096, 4096})};
  if (name == "black_scholes") {
    constexpr DType f64 = DType::float64;
    const Sizes n{1'000'000};
    return {uniform(201, 10, 100, n, f64), uniform(202, 10, 100, n, f64), uniform(203, 0.1, 2, n, f64)};
  }
  if (name == "softmax_rows") return {uniform(301, -4, 4, {4096, 1024})};
  if (name == "layernorm_rows") {
    return {uniform(302, -4, 4, {4096, 1024}), uniform(303, 0.5, 1.5, {1024}), uniform(304, -1, 1, {1024})};
  }
  if (name == "matpow") {
    const double bound = std::sqrt(3.0 / 1000);  // products of such matrices keep their size
    return {uniform(901, -bound, bound, {1000, 1000}), uniform(902, -bound, bound, {1000, 1000})};
  }
  if (name == "mlp_step") {
    return {uniform(502, -0.05, 0.05, {1000, 1000}), uniform(503, -0.05, 0.05, {1000, 1000}),
            uniform(504, -0.1, 0.1, {1000, 10}), uniform(501, -1, 1, {800, 1000}), targets(505, 800)};
  }
  if (name == "logreg_step") return {zeros({784, 10}), zeros({10}), uniform(601, 0, 1, {600, 784}), targets(602, 600)};
  if (name == "cnn_step") {
    return {uniform(703, -0.3, 0.3, {3, 3, 1, 32}), zeros({32}),     uniform(704, -0.3, 0.3, {32, 10}), zeros({10}),
            uniform(701, 0, 1, {64, 28, 28, 1}),    targets(702, 64)};
  }
  if (name == "lstm_forward" || name == "lstm_step") {
    std::vector<Input> inputs{uniform(802, -0.1, 0.1, {256, 256}), uniform(803, -0.1, 0.1, {64, 256}), forget_bias(256),
                              uniform(801, -1, 1, {32, 140, 256})};
    if (name == "lstm_step") inputs.push_back(uniform(804, -1, 1, {32, 64}));
    return inputs;
  }
  if (name == "fit_mlp") {
    return {uniform(1103, -0.08, 0.08, {784, 128}), uniform(1104, -0.2, 0.2, {128, 10}),
            uniform(1101, -1, 1, {2048, 784}), targets(1102, 2048)};
  }
  if (name == "fit_cnn") {
    return {uniform(1203, -0.2, 0.2, {3, 3, 1, 16}), uniform(1204, -0.12, 0.12, {3, 3, 16, 32}),
            uniform(1205, -0.07, 0.07, {1152, 10}), uniform(1201, 0, 1, {512, 28, 28, 1}), targets(1202, 512)};
  }
  if (name == "fit_tiny") {
    return {uniform(1303, -1, 1, {4, 1}), uniform(1301, -1, 1, {1024, 4}), uniform(1302, -1, 1, {1024, 1})};
  }
  throw std::invalid_argument("no workload is called " + std::string(name));
}

Array array_of(const Input& input) {
  if (input.kind == Input::Kind::zeros) return Array::zeros(input.dtype, input.shape);
  if (input.kind == Input::Kind::forget_bias) return array_without_traces(input);
  return Array::uniform(input.dtype, input.shape, input.seed, input.low, input.high);
}

Array array_without_traces(const Input& input) {
  const std::vector<double> values = values_of(input);
  const bool wide = input.dtype == DType::float64, whole = input.dtype == DType::int64;
  const Array flat = wide    ? converted<double>(values)
                     : whole ? converted<std::int64_t>(values)
                             : converted<float>(values);
  return flat.reshape(input.shape);
}

std::vector<double> values_of(const Input& input) {
  std::vector<double> values(static_cast<std::size_t>(count_of(input.shape)));
  if (input.kind == Input::Kind::zeros) return values;
  if (input.kind == Input::Kind::forget_bias) {
    const auto quarter = static_cast<std::ptrdiff_t>(values.size() / 4);
    std::fill(values.begin() + quarter, values.begin() + 2 * quarter, 1.0);
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = input.low + (input.high - input.low) * splitmix(input.seed, i);
    const bool rounds = input.dtype == DType::float32;
    values[i] = input.kind == Input::Kind::targets ? std::floor(value) : rounds ? static_cast<float>(value) : value;
  }
  return values;
}

}  // namespace bench
