// Inputs that are cheap at any size: random numbers that are made once and then repeated.
#pragma once

#include <croton/array.hpp>

#include <cstdint>

namespace bench::gpu {

/// U(seed, low, high) of README.md in float32, whose first `largest_period` numbers are repeated. Making 10^8 different
/// ones would take longer than all measurements with them.
class Noise {
 public:
  /// A prime, so that the rows of a matrix of any width differ.
  static constexpr std::int64_t largest_period = 4'194'301;

  /// `size` is the number of needed elements; only that many are made if it is less than the period.
  Noise(std::uint64_t seed, double low, double high, std::int64_t size);
  double operator()(std::int64_t i) const { return values_[i % period_]; }
  /// The elements from `first` on, in C order.
  croton::Array array(const croton::Sizes& shape, std::int64_t first = 0) const;
  /// The sum of the first `count` elements in double.
  double sum(std::int64_t count) const;

 private:
  croton::Array piece_;
  std::int64_t period_;
  const float* values_;
};

}  // namespace bench::gpu
