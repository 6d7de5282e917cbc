#include "base/shape.hpp"

#include "base/checked.hpp"
#include "base/index.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace croton::base {

std::int64_t element_size(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

namespace {

/// The bytes of an array of this shape, its sizes of 0 counted as 1, and whether it has such sizes.
struct Extent {
  std::int64_t bytes_without_zeros;
  bool empty = false;
};

Extent extent_of(std::span<const std::int64_t> shape, DType dtype) {
  Extent extent{element_size(dtype)};
  for (const std::int64_t size : shape) {
    if (size < 0) throw ShapeError(fmt::format("shape {} has the negative size {}", shape_text(shape), size));
    if (size == 0) {
      extent.empty = true;
      continue;
    }
    const auto product = checked_mul(extent.bytes_without_zeros, size);
    if (!product) {
      throw ShapeError(fmt::format("shape {} of {} needs more bytes than can be counted (2^63 - 1)", shape_text(shape),
                                   name_of(dtype)));
    }
    extent.bytes_without_zeros = *product;
  }
  return extent;
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape, DType dtype) {
  const Extent extent = extent_of(shape, dtype);
  return extent.empty ? 0 : extent.bytes_without_zeros / element_size(dtype);
}

std::size_t byte_count(std::span<const std::int64_t> shape, DType dtype) {
  const Extent extent = extent_of(shape, dtype);  // every call allocates results, so without element_count's division
  return extent.empty ? 0 : to_size(extent.bytes_without_zeros);
}

std::vector<std::int64_t> c_strides(std::span<const std::int64_t> shape, DType dtype) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = element_size(dtype);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (shape[axis] > 1) stride *= shape[axis];
  }
  return strides;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace croton::base
