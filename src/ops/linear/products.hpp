// The one way from products of all ranks to products of matrices.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::ops {

/// Which axes of the two sides meet: `batch` stays and goes in front, `summed` is added up. The result has the batch
/// axes, the other axes of the left side, then those of the right side.
struct Contraction {
  std::vector<int> left_batch, right_batch, left_summed, right_summed;
};

/// `op` is named in messages; `demand` says what must be equal where known sizes are not.
Variable contract(std::string_view op, const Variable& left, const Variable& right, const Contraction& axes,
                  Where where, std::string_view demand = "");

}  // namespace croton::ops
