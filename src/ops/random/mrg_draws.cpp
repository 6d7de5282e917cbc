#include "ops/random/mrg_draws.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include "base/index.hpp"
#include "base/mrg31k3p.hpp"
#include "base/shape.hpp"

namespace croton::ops {
namespace {

/// Uniform numbers of the draw's dtype as T; float16 is computed in float32.
template <class T>
Array uniform_as(Array& state, std::int64_t count, DType dtype) {
  return base::mrg_uniform(state, {count}, dtype).astype(dtype_of<T>());
}

template <class T>
T radius(T u) {
  return std::sqrt(T(-2) * std::log(u));
}

/// The method of Box and Muller (1958) on `count` uniform numbers: the first half are radii, the second half angles.
/// All cosines come first, so adjacent numbers are from different pairs.
template <class T>
class Pairs {
 public:
  Pairs(Array& state, std::int64_t count, DType dtype) : half_(base::to_size(count / 2)) {
    const Array numbers = uniform_as<T>(state, count, dtype);
    const std::span<const T> u = numbers.data<T>();
    for (std::size_t i = 0; i < half_; ++i) {
      const T angle = static_cast<T>(2 * std::numbers::pi) * u[half_ + i];
      cosine_.push_back(std::cos(angle));
      sine_.push_back(std::sin(angle));
      radius_.push_back(radius(u[i]));
    }
  }
  const std::vector<T>& directions(bool second) const { return second ? sine_ : cosine_; }
  T number(bool second, std::size_t i) const { return radius_[i] * directions(second)[i]; }
  std::size_t half() const { return half_; }

 private:
  std::size_t half_;
  std::vector<T> cosine_, sine_, radius_;
};

template <class T>
bool is_far(T z) {
  return z < T(-2) || z > T(2);
}

template <class T>
std::vector<T> normal_numbers(HostDraw& draw, std::int64_t count) {
  const Pairs<T> pairs(draw.states[0], count, draw.dtype);
  std::vector<T> numbers;
  for (const bool second : {false, true}) {
    for (std::size_t i = 0; i < pairs.half(); ++i) numbers.push_back(pairs.number(second, i));
  }
  return numbers;
}

/// Normal numbers between -2 and 2: numbers outside keep their direction and get another radius. In each half they come
/// after the others.
template <class T>
std::vector<T> truncated_numbers(HostDraw& draw, std::int64_t count) {
  const Pairs<T> pairs(draw.states[0], count, draw.dtype);
  std::int64_t far = 0;
  for (const bool second : {false, true}) {
    for (std::size_t i = 0; i < pairs.half(); ++i) far += is_far(pairs.number(second, i)) ? 1 : 0;
  }
  const Array again = uniform_as<T>(draw.states[1], far, draw.dtype);
  const std::span<const T> u = again.data<T>();
  const T low = static_cast<T>(1 / (std::numbers::e * std::numbers::e));  // a radius of at most 2
  std::vector<T> numbers;
  std::size_t next = 0;
  for (const bool second : {false, true}) {
    for (std::size_t i = 0; i < pairs.half(); ++i) {
      if (const T z = pairs.number(second, i); !is_far(z)) numbers.push_back(z);
    }
    for (std::size_t i = 0; i < pairs.half(); ++i) {
      if (is_far(pairs.number(second, i)))
        numbers.push_back(radius(u[next++] * (T(1) - low) + low) * pairs.directions(second)[i]);
    }
  }
  return numbers;
}

/// The numbers of the shape, cut from an even count of numbers.
template <class T>
Array cut(HostDraw& draw, std::vector<T> (*numbers)(HostDraw&, std::int64_t)) {
  const std::int64_t count = base::element_count(draw.shape, draw.dtype);
  const std::vector<T> all = numbers(draw, count + count % 2);
  return Array(std::span(all).first(base::to_size(count))).reshape(draw.shape).astype(draw.dtype);
}

/// A row of a matrix of T.
template <class T>
std::span<const T> row_of(const Array& matrix, std::int64_t row) {
  const std::int64_t columns = matrix.shape(1);
  return matrix.data<T>().subspan(base::to_size(row * columns), base::to_size(columns));
}

/// The first class at which the cumulative probability exceeds u, and the cumulative probability minus its own, which
/// rounding may distinguish from the sum before it.
struct Found {
  std::size_t place;
  double rest;
};
template <class T>
std::optional<Found> find_class(std::span<const T> probabilities, double u) {
  double sum = 0;
  for (std::size_t j = 0; j < probabilities.size(); ++j) {
    const double p = probabilities[j];
    sum += p;
    if (sum > u) return Found{j, sum - p};
  }
  return std::nullopt;
}

template <class T>
Array count_classes(const HostDraw& draw) {
  const Array& pvals = draw.parameters[1];
  const Array counts = Array::zeros(DType::int64, draw.shape);
  const auto trials = draw.parameters[2].item<std::int64_t>();
  for (std::int64_t row = 0; row < pvals.shape(0); ++row) {
    const std::span<std::int64_t> to = counts.row(row).data<std::int64_t>();
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const auto found = find_class(row_of<T>(pvals, row), draw.parameters[0].as_double(trial * pvals.shape(0) + row));
      if (found) ++to[found->place];
    }
  }
  return counts.astype(draw.dtype);
}

/// Removes a class, as in Theano's C code: the other probabilities are divided by their sum, which is computed in T and
/// starts with the sum before the class.
template <class T>
void remove_class(std::span<T> probabilities, const Found& found) {
  T sum = static_cast<T>(found.rest);
  probabilities[found.place] = 0;
  for (std::size_t j = found.place; j < probabilities.size(); ++j) sum += probabilities[j];
  for (T& p : probabilities) p /= sum;
}

template <class T>
Array choose_columns(const HostDraw& draw) {
  Array left = draw.parameters[1].copy();
  const std::int64_t rows = left.shape(0), columns = left.shape(1), count = draw.shape[1];
  if (count > columns)
    throw ValueError(fmt::format("{} different columns of a matrix of {}; take at most as many", count, columns));
  const Array chosen = Array::empty(DType::int64, draw.shape);
  for (std::int64_t choice = 0; choice < count; ++choice) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const double u = draw.parameters[0].as_double(choice * rows + row);
      const auto found = find_class(row_of<T>(left, row), u);
      if (!found)
        throw ValueError(fmt::format(
            "choice {} of row {} finds no column: {} was drawn, and the remaining probabilities of the row add up to "
            "less; rows must add up to 1 and have at least as many columns above 0 as are chosen ({})",
            choice, row, u, count));
      base::nth(chosen.row(row).data<std::int64_t>(), choice) = static_cast<std::int64_t>(found->place);
      if (choice + 1 < count) remove_class(left.row(row).data<T>(), *found);
    }
  }
  return chosen.astype(draw.dtype);
}

bool is_double(const HostDraw& draw) { return draw.dtype == DType::float64; }
bool is_double(const Array& array) { return array.dtype() == DType::float64; }

}  // namespace

Array mrg_draw_uniform(HostDraw& draw) { return base::mrg_uniform(draw.states[0], draw.shape, draw.dtype); }

Array mrg_draw_normal(HostDraw& draw) {
  return is_double(draw) ? cut<double>(draw, normal_numbers<double>) : cut<float>(draw, normal_numbers<float>);
}

Array mrg_draw_truncated_normal(HostDraw& draw) {
  return is_double(draw) ? cut<double>(draw, truncated_numbers<double>) : cut<float>(draw, truncated_numbers<float>);
}

Array mrg_count_classes(HostDraw& draw) {
  return is_double(draw.parameters[1]) ? count_classes<double>(draw) : count_classes<float>(draw);
}

Array mrg_choose_columns(HostDraw& draw) {
  return is_double(draw.parameters[1]) ? choose_columns<double>(draw) : choose_columns<float>(draw);
}

}  // namespace croton::ops
