// The random numbers of NumPy's legacy generator (numpy.random.seed, RandomState), bit for bit, so that programs
// written against it can be repeated with the same numbers. Header-only: tests and examples/mlp_theano.cpp share it.
//
// Sources: M. Matsumoto and T. Nishimura, "Mersenne Twister" (1998), seeded by init_genrand; 53-bit numbers by Isaku
// Wada's combination of two draws; G. Marsaglia's polar method (1964).
#pragma once

#include <cmath>
#include <croton/array.hpp>
#include <cstdint>
#include <optional>
#include <random>

class LegacyRandom {
 public:
  explicit LegacyRandom(std::uint32_t seed) : bits_(seed) {}  // std::mt19937 is seeded by init_genrand

  /// Uniform in [0, 1), with 53 bits: random_sample().
  double uniform() {
    const std::uint32_t high = draw() >> 5, low = draw() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  /// Standard normal: randn(). Values come in pairs; the second is kept for the next call.
  double normal() {
    if (kept_) {
      const double value = *kept_;
      kept_.reset();
      return value;
    }
    double x1 = 0, x2 = 0, square = 0;
    do {
      x1 = 2.0 * uniform() - 1.0;
      x2 = 2.0 * uniform() - 1.0;
      square = x1 * x1 + x2 * x2;
    } while (square >= 1.0 || square == 0.0);
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    kept_ = factor * x1;
    return factor * x2;
  }

  /// Uniform in [low, high): randint(low, high), for ranges of at most 2^32 numbers. Draws are masked by the smallest
  /// mask of ones, and rejected if they are too large.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto largest = static_cast<std::uint32_t>(high - low - 1);
    if (largest == 0) return low;
    std::uint32_t mask = largest;
    for (const int shift : {1, 2, 4, 8, 16}) mask |= mask >> shift;
    std::uint32_t value = draw() & mask;
    while (value > largest) value = draw() & mask;
    return low + static_cast<std::int64_t>(value);
  }

  /// randn(*shape) as float64.
  croton::Array normal_array(croton::Sizes shape) {
    croton::Array array = croton::Array::empty(croton::DType::float64, std::move(shape));
    for (double& value : array.data<double>()) value = normal();
    return array;
  }

  /// randint(low, high, count) as int64.
  croton::Array integer_array(std::int64_t low, std::int64_t high, std::int64_t count) {
    croton::Array array = croton::Array::empty(croton::DType::int64, {count});
    for (std::int64_t& value : array.data<std::int64_t>()) value = integer(low, high);
    return array;
  }

 private:
  std::uint32_t draw() { return static_cast<std::uint32_t>(bits_()); }

  std::mt19937 bits_;
  std::optional<double> kept_;
};
