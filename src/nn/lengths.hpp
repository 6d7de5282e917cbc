// Vectors of length 1.
#pragma once

#include <croton/ops.hpp>

#include <vector>

namespace croton::nn {

/// What squares are taken of: those of float16 overflow from 256 on.
inline Variable widened(const Variable& x) { return cast(x, compute_dtype(x.dtype())); }

/// x divided by its length along the axes; where it is 0 it stays so.
inline Variable unit_along(const Variable& x, const std::vector<int>& axes) {
  const Variable wide = widened(x), square = sum(sqr(wide), ReduceOptions(axes, true));
  return cast(wide * rsqrt(where(eq(square, 0), 1, square)), x.dtype());
}

}  // namespace croton::nn
