// Counts, strides and text, computed from the sizes of an array. All arithmetic is checked, so that a size from a user
// or a file never overflows on its way to an allocation.
#pragma once

#include <croton/type.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace croton::base {

/// Product of the sizes. ShapeError if a size is negative, or if the sizes other than 0 need more bytes than an int64
/// counts (strides are such products too, so they fit wherever this passes).
std::int64_t element_count(std::span<const std::int64_t> shape, DType dtype);
/// size_of(dtype) as the signed type of strides.
std::int64_t element_size(DType dtype);
/// element_count times the size of an element.
std::size_t byte_count(std::span<const std::int64_t> shape, DType dtype);
/// Strides in bytes of a C-ordered block; the shape has passed element_count. A size of 0 counts as 1.
std::vector<std::int64_t> c_strides(std::span<const std::int64_t> shape, DType dtype);
/// The sizes as Python prints tuples: "()", "(3,)", "(2, 3)".
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace croton::base
