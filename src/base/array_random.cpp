// Arrays of random numbers. A seed gives the same numbers on every machine (normal numbers: up to the C library's log,
// sin and cos).
#include <croton/array.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/splitmix64.hpp"

namespace croton {
namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return base::splitmix64(state_ += base::splitmix64_step); }

  /// In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

Array converted(Array numbers, DType dtype) { return dtype == DType::float64 ? numbers : numbers.astype(dtype); }

}  // namespace

Array Array::uniform(DType dtype, Sizes shape, std::uint64_t seed, double lo, double hi) {
  Generator generator(seed);
  Array numbers = empty(DType::float64, std::move(shape));
  for (double& number : numbers.data<double>()) number = lo + (hi - lo) * generator.uniform();
  return converted(std::move(numbers), dtype);
}

Array Array::normal(DType dtype, Sizes shape, std::uint64_t seed) {
  Generator generator(seed);
  Array numbers = empty(DType::float64, std::move(shape));
  const std::span<double> values = numbers.data<double>();
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - generator.uniform()));  // 1 - u is never 0
    const double angle = 2 * std::numbers::pi * generator.uniform();
    values[i] = radius * std::cos(angle);
    if (i + 1 < values.size()) values[i + 1] = radius * std::sin(angle);
  }
  return converted(std::move(numbers), dtype);
}

}  // namespace croton
