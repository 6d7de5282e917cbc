// Vectors of length 1.
#pragma once

#include <croton/ops.hpp>

#include <vector>

namespace croton::nn {

/// x divided by its length along the axes; where it is 0 it stays so.
inline Variable unit_along(const Variable& x, const std::vector<int>& axes) {
  const Variable square = sum(sqr(x), ReduceOptions(axes, true));
  return x * rsqrt(where(eq(square, 0), 1, square));
}

}  // namespace croton::nn
