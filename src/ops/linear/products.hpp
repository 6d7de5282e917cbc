// Contraction of two variables, the reduction of products of all ranks to matrix products.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::ops {

/// The paired axes of the two sides: `batch` axes stay, `summed` axes are summed over. The result has the batch axes,
/// the other axes of the left side, then those of the right side.
struct Contraction {
  std::vector<int> left_batch, right_batch, left_summed, right_summed;
};

/// `op` is for messages; `demand` is the message's requirement if known sizes differ.
Variable contract(std::string_view op, const Variable& left, const Variable& right, const Contraction& axes,
                  Where where, std::string_view demand = "");

}  // namespace croton::ops
