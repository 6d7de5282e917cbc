#include "ops/random/random_reference.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/elementwise/special_reference.hpp"

namespace croton::ops::reference {
namespace {

using Wide = long double;
constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

/// cos(pi x) for x in (0, 2), with the argument reduced where the cosine is small.
Wide cos_pi(Wide x) {
  constexpr Wide pi = std::numbers::pi_v<Wide>;
  if (x > 1) return cos_pi(2 - x);
  return x < Wide{0.25} ? std::cos(pi * x) : x > Wide{0.75} ? -std::cos(pi * (1 - x)) : std::sin(pi * (Wide{0.5} - x));
}

Wide box_muller(Wide radius, Wide angle) { return std::sqrt(-2 * std::log(radius)) * cos_pi(2 * angle); }

/// The words of an attempt, whose number is in the 16 highest bits of the index.
std::pair<std::uint64_t, std::uint64_t> attempt(std::uint64_t key, std::uint64_t count, std::uint64_t index,
                                                std::uint64_t number) {
  return philox(key, count, index ^ number << 48);
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> philox(std::uint64_t key, std::uint64_t count, std::uint64_t index) {
  using Words = std::array<std::uint32_t, 4>;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  Words x{low(index), high(index), low(count), high(count)};
  std::uint32_t k = low(key), l = high(key);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xD2511F53} * x[0], q = std::uint64_t{0xCD9E8D57} * x[2];
    x = Words{high(q) ^ x[1] ^ k, low(q), high(p) ^ x[3] ^ l, low(p)};
    k += 0x9E3779B9;
    l += 0xBB67AE85;
  }
  return {x[0] | std::uint64_t{x[1]} << 32, x[2] | std::uint64_t{x[3]} << 32};
}

double unit32(std::uint64_t bits) { return (static_cast<double>(bits >> 41) + 0.5) * 0x1p-23; }
double unit64(std::uint64_t bits) { return static_cast<double>((static_cast<Wide>(bits >> 12) + 0.5L) * 0x1p-52L); }

double normal32(std::uint64_t bits) {
  // The kernels' radius is a float.
  const float radius = (static_cast<float>(bits & 0x7fffffff) + 0.5F) * 0x1p-31F;
  return static_cast<double>(box_muller(radius, unit32(bits)));
}
double normal64(std::uint64_t low, std::uint64_t high) {
  return static_cast<double>(box_muller(unit64(low), unit64(high)));
}

std::uint64_t random_below(std::uint64_t bits, std::uint64_t n) {
  // Long multiplication by halves of 32 bits.
  const std::uint64_t word = 0xffffffff, a = bits >> 32, b = bits & word, c = n >> 32, d = n & word;
  const std::uint64_t middle = a * d + (b * d >> 32), carried = b * c + (middle & word);
  return a * c + (middle >> 32) + (carried >> 32);
}

double sample_log_gamma(std::uint64_t key, std::uint64_t count, std::uint64_t index, double shape) {
  if (std::isnan(shape) || shape < 0) return not_a_number;
  if (shape == 0) return -inf;
  if (std::isinf(shape)) return inf;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint64_t i = 0; i < 2000; i += 2) {
    const auto [a, b] = attempt(key, count, index, i);
    const auto [u, boost] = attempt(key, count, index, i + 1);
    const double x = normal64(a, b), root = 1 + c * x, v = root * root * root;
    if (v <= 0 || std::log(unit64(u)) >= 0.5 * x * x + d * (1 - v + std::log(v))) continue;
    return std::log(d) + std::log(v) + (shape < 1 ? std::log(unit64(boost)) / shape : 0);
  }
  return not_a_number;
}

double sample_poisson(std::uint64_t key, std::uint64_t count, std::uint64_t index, double mean) {
  if (std::isnan(mean) || mean < 0) return not_a_number;
  if (std::isinf(mean)) return inf;
  if (mean < 10) {
    const double u = unit64(philox(key, count, index).first);
    double k = 0, term = std::exp(-mean), sum = term;
    while (u > sum && term > 1e-18) sum += term *= mean / ++k;
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto [low, high] = attempt(key, count, index, i);
    const double u = unit64(low) - 0.5, v = unit64(high), near = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / near + b) * u + mean + 0.43);
    if (near >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (near < 0.013 && v > near)) continue;
    const double squeeze = v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (near * near) + b);
    if (std::log(squeeze) <= k * std::log(mean) - mean - gammaln(k + 1)) return k;
  }
  return not_a_number;
}

double sample_binomial(std::uint64_t key, std::uint64_t count, std::uint64_t index, double n, double p) {
  n = std::floor(n);
  if (!(n >= 0) || std::isinf(n) || !(p >= 0) || p > 1) return not_a_number;
  if (p > 0.5) return n - sample_binomial(key, count, index, n, 1 - p);
  const double odds = p / (1 - p);
  if (n * p < 10) {
    const double u = unit64(philox(key, count, index).first);
    double k = 0, term = std::exp(n * std::log1p(-p)), sum = term;
    while (u > sum && term > 1e-18) {
      ++k;
      sum += term *= odds * (n - k + 1) / k;
    }
    return k;
  }
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p);
  const auto log_density = [&](double k) { return k * std::log(odds) - gammaln(k + 1) - gammaln(n - k + 1); };
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto [low, high] = attempt(key, count, index, i);
    const double u = unit64(low) - 0.5, v = unit64(high), near = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / near + b) * u + n * p + 0.5);
    if (near >= 0.07 && v <= 0.92 - 4.2 / b) return k;
    if (k < 0 || k > n) continue;
    if (std::log(v * alpha / (a / (near * near) + b)) <= log_density(k) - log_density(mode)) return k;
  }
  return not_a_number;
}

}  // namespace croton::ops::reference
