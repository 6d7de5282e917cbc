#include <croton/nn/initializers.hpp>
#include <croton/ops.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "base/index.hpp"
#include "base/shape.hpp"
#include "base/splitmix64.hpp"
#include "builder/gradient_context.hpp"
#include "nn/by_name.hpp"

namespace croton::nn {
namespace {

using Doubles = std::vector<double>;

Array as_array(const Doubles& values, const Sizes& shape, DType dtype) {
  return Array(std::span<const double>(values)).astype(dtype).reshape(shape);
}

/// The state of this thread's seeds, which each new seed advances.
std::uint64_t& seed_state() {
  thread_local std::uint64_t state = (std::uint64_t{std::random_device()()} << 32) | std::random_device()();
  return state;
}

/// The number of elements of an array with these sizes.
std::int64_t count(std::span<const std::int64_t> sizes) { return base::element_count(sizes, DType::float64); }

/// The standard deviation of a standard normal distribution that is truncated at two deviations.
constexpr double truncated_deviation = 0.87962566103423978;

Doubles truncated_normal(std::int64_t n, std::uint64_t seed) {
  Doubles values;
  values.reserve(base::to_size(n));
  // Each round draws the numbers that are missing, the first one all; about one in 22 is beyond.
  for (std::uint64_t round = 0; std::ssize(values) < n; ++round) {
    const Array drawn =
        Array::normal(DType::float64, {n - std::ssize(values)}, base::splitmix64(seed + round * base::splitmix64_step));
    std::ranges::copy_if(drawn.data<double>(), std::back_inserter(values), [](double x) { return std::abs(x) <= 2; });
  }
  return values;
}

double fan_of(const Sizes& shape, Fan fan) {
  if (shape.size() < 2) return static_cast<double>(count(shape));
  const double window = static_cast<double>(count(std::span(shape).first(shape.size() - 2)));
  const double in = window * static_cast<double>(shape.end()[-2]), out = window * static_cast<double>(shape.back());
  return fan == Fan::in ? in : fan == Fan::out ? out : (in + out) / 2;
}

/// The dot product, in eight partial sums, which a compiler turns into vector operations.
double dot_of(std::span<const double> a, std::span<const double> b) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Reflects the vector x at the plane orthogonal to v: x - factor (v x) v.
void reflect(std::span<double> x, std::span<const double> v, double factor) {
  const double scale = factor * dot_of(v, x);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= scale * v[i];
}

/// Orthonormal vectors from n vectors of m >= n elements, which are contiguous: Q of their QR decomposition by
/// Householder's reflections (1958), with R's diagonal positive. So the result is uniformly distributed over all such
/// matrices if the vectors are normal numbers (Mezzadri 2007).
Doubles orthonormal(Doubles vectors, std::size_t n, std::size_t m) {
  const auto tail = [&](Doubles& of, std::size_t vector, std::size_t from) {
    return std::span(of).subspan(vector * m + from, m - from);
  };
  // Blocked: all reflections of one block of vectors, which stays in the cache, then those of the next block.
  constexpr std::size_t block = 8;
  Doubles signs(n), factors(n);
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t end = std::min(n, begin + block);
    for (std::size_t k = 0; k < end; ++k) {
      const std::span<double> v = tail(vectors, k, k);
      if (k >= begin) {  // its own reflection replaces it
        const double norm = std::sqrt(dot_of(v, v));
        // It maps v to -sign(v[0]) norm, R's diagonal, so that v[0] is not a difference of nearly equal numbers.
        signs[k] = v[0] < 0 ? 1 : -1;
        v[0] -= signs[k] * norm;
        const double square = dot_of(v, v);
        factors[k] = square == 0 ? 0 : 2 / square;
      }
      for (std::size_t i = std::max(begin, k + 1); i < end; ++i) reflect(tail(vectors, i, k), v, factors[k]);
    }
  }
  // All reflections, the last one first, of the unit vectors; those after the k-th do not change the k-th vector.
  Doubles q(n * m);
  for (std::size_t begin = 0; begin < n; begin += block) {
    const std::size_t end = std::min(n, begin + block);
    for (std::size_t k = begin; k < end; ++k) q[k * m + k] = signs[k];
    for (std::size_t k = end; k-- > 0;) {
      for (std::size_t i = std::max(begin, k); i < end; ++i) reflect(tail(q, i, k), tail(vectors, k, k), factors[k]);
    }
  }
  return q;
}

[[noreturn]] void fail_matrix(const char* name, const char* needed, const Sizes& shape) {
  throw ShapeError(fmt::format("{} makes weights of {}, not of shape {}", name, needed, base::shape_text(shape)));
}

Array identity(const Sizes& shape, DType dtype, std::uint64_t) {
  if (shape.size() != 2) fail_matrix("identity", "two axes", shape);
  Doubles values(base::to_size(count(shape)));
  for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) base::nth(values, i * (shape[1] + 1)) = 1;
  return as_array(values, shape, dtype);
}

using MakeDefault = Initializer (*)();
constexpr Named<MakeDefault> initializers[] = {
    {"glorot_uniform", [] { return variance_scaling(1, Fan::average, true); }},
    {"glorot_normal", [] { return variance_scaling(1, Fan::average, false); }},
    {"he_uniform", [] { return variance_scaling(2, Fan::in, true); }},
    {"he_normal", [] { return variance_scaling(2, Fan::in, false); }},
    {"lecun_uniform", [] { return variance_scaling(1, Fan::in, true); }},
    {"lecun_normal", [] { return variance_scaling(1, Fan::in, false); }},
    {"orthogonal", [] { return orthogonal_matrix(); }},
    {"zeros", [] { return constant_values(0); }},
    {"ones", [] { return constant_values(1); }},
    {"random_uniform", [] { return uniform_between(); }},
    {"random_normal", [] { return normal_around(); }},
    {"truncated_normal", [] { return truncated_normal_around(); }},
    {"identity", [] { return Initializer(identity, "identity"); }},
};

constexpr Named<std::array<double, 2>> regularizers[] = {
    {"l1", {default_penalty, 0}}, {"l2", {0, default_penalty}}, {"l1_l2", {default_penalty, default_penalty}}};

}  // namespace

std::string to_string(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(size == any_size ? "?" : std::to_string(size));
  return fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

void set_seed(std::uint64_t seed) { seed_state() = base::splitmix64(seed); }
std::uint64_t next_seed() { return base::splitmix64(seed_state() += base::splitmix64_step); }

Initializer::Initializer(std::string_view name)
    : Initializer(by_name(std::span<const Named<MakeDefault>>(initializers), name, "initializer")()) {
  name_ = name;
}

Array Initializer::operator()(const Sizes& shape, DType dtype, std::uint64_t seed) const {
  const Array made = make_(shape, dtype, seed);
  if (made.shape() != shape)
    throw ShapeError(fmt::format("initializer {} gave values of shape {} for a weight of shape {}", name_,
                                 base::shape_text(made.shape()), base::shape_text(shape)));
  return made.dtype() == dtype ? made : made.astype(dtype);
}

Initializer constant_values(double value) {
  return Initializer(
      [value](const Sizes& shape, DType dtype, std::uint64_t) { return Array::full(dtype, shape, value); }, "constant");
}
Initializer values_of(const Array& values) {
  return Initializer(
      [values = values.to_host().copy()](const Sizes&, DType dtype, std::uint64_t) { return values.astype(dtype); },
      "values");
}
Initializer uniform_between(double low, double high) {
  return Initializer([low, high](const Sizes& shape, DType dtype,
                                 std::uint64_t seed) { return Array::uniform(dtype, shape, seed, low, high); },
                     "uniform");
}
Initializer normal_around(double mean, double deviation) {
  return Initializer(
      [mean, deviation](const Sizes& shape, DType dtype, std::uint64_t seed) {
        Array values = Array::normal(DType::float64, shape, seed);
        for (double& x : values.data<double>()) x = mean + deviation * x;
        return values.astype(dtype);
      },
      "normal");
}
Initializer truncated_normal_around(double mean, double deviation) {
  return Initializer(
      [mean, deviation](const Sizes& shape, DType dtype, std::uint64_t seed) {
        Doubles values = truncated_normal(count(shape), seed);
        for (double& x : values) x = mean + deviation * x;
        return as_array(values, shape, dtype);
      },
      "truncated_normal");
}
Initializer variance_scaling(double scale, Fan fan, bool uniform) {
  if (!(scale > 0)) throw ValueError(fmt::format("the scale of variance_scaling must be above 0, and is {}", scale));
  return Initializer(
      [scale, fan, uniform](const Sizes& shape, DType dtype, std::uint64_t seed) {
        const double variance = scale / std::max(1.0, fan_of(shape, fan));
        if (!uniform) return truncated_normal_around(0, std::sqrt(variance) / truncated_deviation)(shape, dtype, seed);
        const double limit = std::sqrt(3 * variance);
        return Array::uniform(dtype, shape, seed, -limit, limit);
      },
      "variance_scaling");
}
Initializer orthogonal_matrix(double gain) {
  return Initializer(
      [gain](const Sizes& shape, DType dtype, std::uint64_t seed) {
        if (shape.size() < 2) fail_matrix("orthogonal", "two axes or more", shape);
        const std::int64_t columns = shape.back(), rows = count(std::span(shape).first(shape.size() - 1));
        const std::int64_t n = std::min(rows, columns), m = std::max(rows, columns);
        const Array normal = Array::normal(DType::float64, {n, m}, seed);
        Doubles vectors = orthonormal({normal.data<double>().begin(), normal.data<double>().end()}, base::to_size(n),
                                      base::to_size(m));
        for (double& x : vectors) x *= gain;
        const Array made = as_array(vectors, {n, m}, dtype);
        return (rows < columns ? made : made.transpose().copy()).reshape(shape);
      },
      "orthogonal");
}

Regularizer::Regularizer(const char* name) {
  const auto& [of_l1, of_l2] =
      by_name(std::span<const Named<std::array<double, 2>>>(regularizers), name, "regularizer");
  *this = l1_l2(of_l1, of_l2);
}

Regularizer l1_l2(double l1, double l2) {
  return Regularizer([l1, l2](const Variable& weight) {
    const builder::OriginScope origin(weight.where());
    // Sums of float16 would overflow.
    const DType dtype = promote(weight.dtype(), DType::float32);
    const Variable w = cast(weight, dtype);
    const auto term = [&](double factor, const Variable& x) {
      return builder::scalar_constant(factor, dtype) * sum(x);
    };
    if (l2 == 0) return term(l1, abs(w));
    return l1 == 0 ? term(l2, sqr(w)) : term(l1, abs(w)) + term(l2, sqr(w));
  });
}
Regularizer l1(double factor) { return l1_l2(factor, 0); }
Regularizer l2(double factor) { return l1_l2(0, factor); }

}  // namespace croton::nn
