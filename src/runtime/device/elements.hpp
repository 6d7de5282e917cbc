// Memory without a C++ type as bytes and as elements of a dtype, and numbers of elements that may be huge.
#pragma once

#include <croton/type.hpp>

#include "base/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>

namespace croton::runtime {

/// The `size` bytes from `begin` on.
inline std::span<std::byte> bytes_at(void* begin, std::size_t size) { return {static_cast<std::byte*>(begin), size}; }
inline std::span<const std::byte> bytes_at(const void* begin, std::size_t size) {
  return {static_cast<const std::byte*>(begin), size};
}

/// The address of the element with that position in memory that begins at `begin`.
inline std::byte* element_at(void* begin, DType dtype, std::int64_t position) {
  return bytes_at(begin, 0).data() + position * base::element_size(dtype);
}
inline const std::byte* element_at(const void* begin, DType dtype, std::int64_t position) {
  return bytes_at(begin, 0).data() + position * base::element_size(dtype);
}

/// The size of `count` elements in bytes.
inline std::size_t size_in_bytes(DType dtype, std::int64_t count) {
  return static_cast<std::size_t>(count) * size_of(dtype);
}

/// The product of sizes as a real number, so that it cannot overflow; `size` finds the size of an item.
template <class Items, class Size = std::identity>
double real_product(const Items& items, Size size = {}) {
  double product = 1;
  for (const auto& item : items) product *= static_cast<double>(std::invoke(size, item));
  return product;
}
inline double real_product(std::initializer_list<std::int64_t> sizes) { return real_product(std::span(sizes)); }

}  // namespace croton::runtime
