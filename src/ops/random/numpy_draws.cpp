#include "ops/random/numpy_draws.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/array_bytes.hpp"
#include "base/half.hpp"
#include "base/index.hpp"
#include "base/numpy_random.hpp"
#include "base/shape.hpp"

namespace croton::ops {
namespace {

using base::NumpyRandom;

/// A parameter as T, broadcast to a shape.
template <class T>
Array broadcast(const Array& given, const Sizes& shape) {
  const Array parameter = given.astype(dtype_of<T>());
  Sizes strides(shape.size(), 0);
  const std::size_t rank = parameter.shape().size();
  bool fits = rank <= shape.size();
  for (std::size_t axis = 0; fits && axis < rank; ++axis) {
    const std::size_t to = shape.size() - rank + axis;
    const std::int64_t size = parameter.shape()[axis];
    if (size != 1) strides[to] = parameter.strides()[axis];
    fits = size == 1 || size == shape[to];
  }
  if (!fits)
    throw ValueError(
        fmt::format("a parameter of shape {} for a draw of shape {}; sizes must be equal, or 1 in the "
                    "parameter",
                    base::shape_text(given.shape()), base::shape_text(shape)));
  return Array::copy_of(std::as_const(parameter).raw(), dtype_of<T>(), shape, strides);
}

/// Draws elements of Result one after another in C order, each with its own parameters.
template <class Result, class First, class Second, class Draw>
Array elements(HostDraw& draw, Draw one) {
  NumpyRandom random = NumpyRandom::from_state(draw.states[0]);
  const Array first = broadcast<First>(draw.parameters[0], draw.shape);
  const Array second = broadcast<Second>(draw.parameters.back(), draw.shape);
  Array result = Array::empty(dtype_of<Result>(), draw.shape);
  const std::span<const First> a = first.data<First>();
  const std::span<const Second> b = second.data<Second>();
  std::size_t i = 0;
  for (Result& element : result.data<Result>()) {
    element = static_cast<Result>(one(random, a[i], b[i]));
    ++i;
  }
  draw.states[0] = random.state();
  return result.astype(draw.dtype);
}

/// NumPy's sum of a row: pairwise, with eight partial sums.
template <class T>
T pairwise_sum(std::span<const T> x) {
  constexpr std::size_t lanes = 8, most = 128;
  if (x.size() > most) {
    const std::size_t half = x.size() / 2, first = half - half % lanes;
    return pairwise_sum(x.first(first)) + pairwise_sum(x.subspan(first));
  }
  T sum = 0;
  std::size_t done = 0;
  if (x.size() >= lanes) {
    T lane[lanes];
    for (std::size_t k = 0; k < lanes; ++k) lane[k] = x[k];
    for (done = lanes; done + lanes <= x.size(); done += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) lane[k] += x[done + k];
    }
    sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  }
  for (; done < x.size(); ++done) sum += x[done];
  return sum;
}

/// A row of probabilities as Theano passes it to NumPy, which rejects rows with a sum above 1. `rounded` rounds T to
/// the dtype of the row.
template <class T, class Rounding>
std::vector<double> corrected(std::span<const T> given, Rounding rounded) {
  std::vector<T> row(given.begin(), given.end());
  const auto sum = [&]() -> double { return rounded(pairwise_sum(std::span<const T>(row))); };
  double total = sum();
  const double last = row.empty() ? 0 : row.back();
  if ((1.0 < total && total < 1.0 + 1e-5) || last < 5e-5) {
    for (T& p : row) p = rounded(p * rounded(static_cast<T>(1.0 - 5e-5)));
    total = sum();
  }
  if (!(total <= 1.0))
    throw AssertionError(fmt::format("probabilities add up to {}; they may add up to 1 at most", total));
  return {row.begin(), row.end()};
}

template <class T, class Rounding>
Array counts_of_rows(HostDraw& draw, Rounding rounded) {
  const Sizes outer(draw.shape.begin(), draw.shape.end() - 1);
  const std::int64_t classes = draw.shape.back();
  const Array pvals = broadcast<T>(draw.parameters[1], draw.shape),
              trials = broadcast<std::int64_t>(draw.parameters[0], outer);
  for (const T p : pvals.data<T>()) {
    if (!(p >= 0)) throw AssertionError(fmt::format("a probability of {}; it is at least 0", p));
  }
  NumpyRandom random = NumpyRandom::from_state(draw.states[0]);
  // Theano converts counts to float64 and back.
  const Array result = Array::empty(DType::float64, {trials.size(), classes});
  for (std::int64_t row = 0; row < trials.size(); ++row) {
    const auto given = pvals.data<T>().subspan(base::to_size(row * classes), base::to_size(classes));
    const std::vector<double> p = corrected(given, rounded);
    result.row(row).copy_from(random.multinomial(base::nth(trials.data<std::int64_t>(), row), p));
  }
  draw.states[0] = random.state();
  return result.reshape(draw.shape).astype(draw.dtype);
}

float to_half_and_back(float x) { return base::to_float(base::to_half(x)); }

}  // namespace

Array numpy_draw_uniform(HostDraw& draw) {
  return elements<double, double, double>(draw,
                                          [](NumpyRandom& r, double low, double high) { return r.uniform(low, high); });
}

Array numpy_draw_normal(HostDraw& draw) {
  return elements<double, double, double>(
      draw, [](NumpyRandom& r, double mean, double deviation) { return r.normal(mean, deviation); });
}

Array numpy_draw_binomial(HostDraw& draw) {
  return elements<std::int64_t, std::int64_t, double>(
      draw, [](NumpyRandom& r, std::int64_t n, double p) { return r.binomial(n, p); });
}

Array numpy_draw_random_integers(HostDraw& draw) {
  // Theano converts the numbers to float64 and back.
  return elements<double, std::int64_t, std::int64_t>(
      draw, [](NumpyRandom& r, std::int64_t low, std::int64_t high) { return r.random_integers(low, high); });
}

Array numpy_draw_poisson(HostDraw& draw) {
  return elements<std::int64_t, double, double>(
      draw, [](NumpyRandom& r, double lambda, double) { return r.poisson(lambda); });
}

Array numpy_draw_choice(HostDraw& draw) {
  const Array &from = draw.parameters[0], &p = draw.parameters[2];
  const bool replace = draw.parameters[1].as_double(0) != 0;
  const std::int64_t population = from.rank() == 1 ? from.size() : from.item<std::int64_t>();
  NumpyRandom random = NumpyRandom::from_state(draw.states[0]);
  const std::int64_t count = base::element_count(draw.shape, DType::int64);
  const Array places = random.choice(population, count, replace, p.size() > 0 ? std::optional(p) : std::nullopt);
  draw.states[0] = random.state();
  if (from.rank() == 0) return places.reshape(draw.shape).astype(draw.dtype);
  const Array values = from.astype(draw.dtype);
  Array chosen = Array::empty(draw.dtype, {count});
  const std::int64_t width = base::element_size(draw.dtype);
  std::byte* to = base::writable_bytes_of(chosen);
  for (const std::int64_t place : places.data<std::int64_t>())
    to = std::copy_n(base::bytes_of(values) + place * width, width, to);
  return chosen.reshape(draw.shape);
}

Array numpy_draw_permutation(HostDraw& draw) {
  NumpyRandom random = NumpyRandom::from_state(draw.states[0]);
  const Sizes outer(draw.shape.begin(), draw.shape.end() - 1);
  const std::int64_t rows = base::element_count(outer, DType::int64);
  const Array result = Array::empty(draw.dtype, {rows, draw.shape.back()});
  for (std::int64_t row = 0; row < rows; ++row) result.row(row).copy_from(random.permutation(draw.shape.back()));
  draw.states[0] = random.state();
  return result.reshape(draw.shape);
}

Array numpy_draw_multinomial(HostDraw& draw) {
  const auto as_it_is = [](auto x) { return x; };
  switch (draw.parameters[1].dtype()) {
    case DType::float64:
      return counts_of_rows<double>(draw, as_it_is);
    case DType::float32:
      return counts_of_rows<float>(draw, as_it_is);
    default:
      return counts_of_rows<float>(draw, to_half_and_back);
  }
}

}  // namespace croton::ops
