#include "gpu/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace bench::gpu {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t most_elements = 1 << 20;

}  // namespace

double NormError::value() const {
  const double error = std::sqrt(distance_ / std::max(norm_, 1e-300));
  return std::isnan(error) ? infinity : error;
}

std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t wanted) {
  const std::int64_t step = std::max<std::int64_t>(1, count / wanted) | 1;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; i += step) positions.push_back(i);
  if (positions.back() != count - 1) positions.push_back(count - 1);
  return positions;
}

double error_of_rows(const croton::Array& got, const croton::Sizes& shape, const WantedRow& want) {
  if (got.shape() != shape) return infinity;
  const std::int64_t columns = shape[1];
  const float* values = got.data<float>().data();
  std::vector<double> row(static_cast<std::size_t>(columns));
  NormError error;
  for (const std::int64_t i : sampled(shape[0], std::max<std::int64_t>(1, most_elements / columns))) {
    want(i, row);
    const float* at = values + i * columns;
    for (const double value : row) error.add(*at++, value);
  }
  return error.value();
}

double error_of_elements(const croton::Array& got, const croton::Sizes& shape,
                         const std::function<double(std::int64_t)>& want, std::int64_t wanted) {
  if (got.shape() != shape) return infinity;
  const float* values = got.data<float>().data();
  NormError error;
  for (const std::int64_t i : sampled(got.size(), wanted)) error.add(values[i], want(i));
  return error.value();
}

}  // namespace bench::gpu
