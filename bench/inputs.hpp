// The inputs of every workload by README.md's table, for both Croton's graphs and the references.
#pragma once

#include <croton/array.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

struct Input {
  /// forget_bias: ones in the second of four equal parts, else zeros, as the gates of an LSTM begin.
  enum class Kind { uniform, targets, zeros, forget_bias };
  Kind kind = Kind::uniform;
  croton::DType dtype = croton::DType::float32;
  croton::Sizes shape;
  std::uint64_t seed = 0;
  double low = 0, high = 1;
};

/// The inputs: first the weights that a training step updates (of a training, its kernels), then the rest.
std::vector<Input> inputs_of(std::string_view workload);
/// The number at the end of a name: 1e6 of "axpy_chain_1e6".
std::int64_t size_in_name(std::string_view workload);

/// The input as Croton's library generates it.
croton::Array array_of(const Input& input);
/// The same array, made without others: Croton would keep their memory for its results.
croton::Array array_without_traces(const Input& input);
/// The same elements from a generator of our own, so that a fault in the library's would be noticed.
std::vector<double> values_of(const Input& input);

}  // namespace bench
