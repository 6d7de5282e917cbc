// Vectors of length 1.
#pragma once

#include <croton/ops.hpp>

#include <vector>

namespace croton::nn {

/// x in a dtype in which squares do not overflow: in float16 they do from 256 on.
inline Variable widened(const Variable& x) { return cast(x, compute_dtype(x.dtype())); }

/// x divided by its length along the axes; vectors of length 0 stay 0.
inline Variable unit_along(const Variable& x, const std::vector<int>& axes) {
  const Variable wide = widened(x), square = sum(sqr(wide), ReduceOptions(axes, true));
  return cast(wide * rsqrt(where(eq(square, 0), 1, square)), x.dtype());
}

}  // namespace croton::nn
