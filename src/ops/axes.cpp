#include "ops/axes.hpp"

#include <croton/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "builder/node.hpp"

namespace croton::ops {

std::vector<int> normal_axes(const std::vector<int>& axes, int rank, std::string_view op, const Operand& x) {
  const auto refuse = [&](const std::string& message) {
    throw ValueError(
        fmt::format("{} ({}): {}: {}", op, builder::describe(x.where), builder::describe(x.variable), message));
  };
  std::vector<int> result;
  for (const int axis : axes) {
    if (rank == 0) refuse(fmt::format("axis {}, where there are no axes", axis));
    if (axis < -rank || axis >= rank)
      refuse(fmt::format("axis {}, where {} to {} are accepted", axis, -rank, rank - 1));
    result.push_back(axis < 0 ? axis + rank : axis);
  }
  std::ranges::sort(result);
  const auto twice = std::ranges::adjacent_find(result);
  if (twice != result.end()) refuse(fmt::format("axis {} is named twice", *twice));
  return result;
}

int normal_axis(int axis, int rank, std::string_view op, const Operand& x) {
  return normal_axes({axis}, rank, op, x).front();
}

Variable along_axis(const Variable& vector, int axis, int rank) {
  std::vector<int> pattern(base::to_size(rank), broadcast_axis);
  base::nth(pattern, axis) = 0;
  return dimshuffle(vector, pattern);
}

}  // namespace croton::ops
