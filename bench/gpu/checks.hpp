// How results are compared with references in float64: on samples, as a loop over 10^8 elements on the host takes
// longer than the workload.
#pragma once

#include <croton/array.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bench::gpu {

/// |got - want| / |want|; infinite where an element is no number.
class NormError {
 public:
  void add(double got, double want) { add_change(got, want, 0); }
  /// For values that only move a little from `first`: |got - want| / |want - first|, since a step that moved nothing
  /// would hardly be seen in the error of the values themselves.
  void add_change(double got, double want, double first) {
    distance_ += (got - want) * (got - want);
    norm_ += (want - first) * (want - first);
  }
  double value() const;

 private:
  double distance_ = 0, norm_ = 0;
};

/// About `wanted` of the positions below `count`: 0 and on by an odd step, and the last one.
std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t wanted);

/// Writes what one row must be.
using WantedRow = std::function<void(std::int64_t row, std::span<double> want)>;

/// The error over as many rows as have about a million elements; infinite where the shape is not the one expected.
double error_of_rows(const croton::Array& got, const croton::Sizes& shape, const WantedRow& want);

/// How many lines of a matrix are added up by references.
inline constexpr std::int64_t sampled_lines = 512;

/// The same over about `wanted` elements of a vector or a number, which are asked for one by one.
double error_of_elements(const croton::Array& got, const croton::Sizes& shape,
                         const std::function<double(std::int64_t)>& want, std::int64_t wanted = 1 << 16);

}  // namespace bench::gpu
