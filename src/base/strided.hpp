// Iteration over two strided blocks of one shape, row by row, with as few and as long rows as their strides allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace croton::base {

/// One axis of two blocks: its size, and its stride in each block, in bytes.
struct PairAxis {
  std::int64_t size;
  std::int64_t first_stride;
  std::int64_t second_stride;
};

/// The axes without those of size 1, with neighbours merged where both blocks are contiguous; never empty.
inline std::vector<PairAxis> merged_axes(std::span<const std::int64_t> shape,
                                         std::span<const std::int64_t> first_strides,
                                         std::span<const std::int64_t> second_strides) {
  std::vector<PairAxis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const PairAxis axis{shape[i], first_strides[i], second_strides[i]};
    if (!axes.empty() && axes.back().first_stride == axis.size * axis.first_stride &&
        axes.back().second_stride == axis.size * axis.second_stride) {
      axes.back() = {axes.back().size * axis.size, axis.first_stride, axis.second_stride};
    } else {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) axes.push_back({1, 0, 0});
  return axes;
}

/// Calls row(first_offset, second_offset, axis) in C order for each row along the last merged axis until one returns
/// false; offsets are bytes from the blocks' first elements. True if every row returned true.
template <class Row>
bool for_each_row(std::span<const std::int64_t> shape, std::span<const std::int64_t> first_strides,
                  std::span<const std::int64_t> second_strides, Row&& row) {
  for (const std::int64_t size : shape) {
    if (size == 0) return true;
  }
  const std::vector<PairAxis> axes = merged_axes(shape, first_strides, second_strides);
  const std::size_t outer = axes.size() - 1;
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t first = 0;
  std::int64_t second = 0;
  for (;;) {
    if (!row(first, second, axes.back())) return false;
    std::size_t axis = outer;
    for (; axis > 0; --axis) {
      const PairAxis& a = axes[axis - 1];
      first += a.first_stride;
      second += a.second_stride;
      if (++index[axis - 1] < a.size) break;
      first -= a.size * a.first_stride;
      second -= a.size * a.second_stride;
      index[axis - 1] = 0;
    }
    if (axis == 0) return true;
  }
}

}  // namespace croton::base
