// Arrays of random numbers, the same on every machine for a seed (the normal ones up to the C library's log, sin and
// cos).
#include <croton/array.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace croton {
namespace {

/// SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// In [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

Array converted(Array numbers, DType dtype) { return dtype == DType::float64 ? numbers : numbers.astype(dtype); }

}  // namespace

Array Array::uniform(DType dtype, Sizes shape, std::uint64_t seed, double lo, double hi) {
  SplitMix64 generator(seed);
  Array numbers = empty(DType::float64, std::move(shape));
  for (double& number : numbers.data<double>()) number = lo + (hi - lo) * generator.uniform();
  return converted(std::move(numbers), dtype);
}

Array Array::normal(DType dtype, Sizes shape, std::uint64_t seed) {
  SplitMix64 generator(seed);
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
