// Comparison of results with references in float64: on samples, because a loop over 10^8 elements on the host takes
// longer than the workload.
#pragma once

#include <croton/array.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bench::gpu {

/// The error |got - want| / |want|; infinite if an element is not a number.
class NormError {
 public:
  void add(double got, double want) { add_change(got, want, 0); }
  /// For values that change only a little from `first`: |got - want| / |want - first|, since a step that changes
  /// nothing would hardly be visible in the error of the values themselves.
  void add_change(double got, double want, double first) {
    distance_ += (got - want) * (got - want);
    norm_ += (want - first) * (want - first);
  }
  double value() const;

 private:
  double distance_ = 0, norm_ = 0;
};

/// About `wanted` of the positions below `count`: from 0 by an odd step, and the last one.
std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t wanted);

/// Computes the expected values of one row.
using WantedRow = std::function<void(std::int64_t row, std::span<double> want)>;

/// The error over rows with about a million elements; infinite if the shape is wrong.
double error_of_rows(const croton::Array& got, const croton::Sizes& shape, const WantedRow& want);

/// The number of rows of a matrix that references add.
inline constexpr std::int64_t sampled_lines = 512;

/// The same for about `wanted` elements of a vector or a number, which are computed separately.
double error_of_elements(const croton::Array& got, const croton::Sizes& shape,
                         const std::function<double(std::int64_t)>& want, std::int64_t wanted = 1 << 16);

}  // namespace bench::gpu
