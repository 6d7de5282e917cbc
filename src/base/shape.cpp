#include "base/shape.hpp"

#include "base/checked.hpp"
#include "base/index.hpp"

#include <croton/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace croton::base {

std::int64_t element_size(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

std::int64_t element_count(std::span<const std::int64_t> shape, DType dtype) {
  std::int64_t bytes_without_zeros = element_size(dtype);
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) throw ShapeError(fmt::format("shape {} has the negative size {}", shape_text(shape), size));
    if (size == 0) {
      empty = true;
      continue;
    }
    const auto product = checked_mul(bytes_without_zeros, size);
    if (!product) {
      throw ShapeError(fmt::format("shape {} of {} needs more bytes than can be counted (2^63 - 1)", shape_text(shape),
                                   name_of(dtype)));
    }
    bytes_without_zeros = *product;
  }
  return empty ? 0 : bytes_without_zeros / element_size(dtype);
}

std::size_t byte_count(std::span<const std::int64_t> shape, DType dtype) {
  return to_size(element_count(shape, dtype)) * size_of(dtype);
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
