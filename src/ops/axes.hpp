// Axes as users name them, and dimshuffles that operations are composed of.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::ops {

/// Axes by number in rising order, negative ones counted from the end; ValueError outside, or when named twice.
std::vector<int> normal_axes(const std::vector<int>& axes, int rank, std::string_view op, const Operand& x);
/// The same of one axis.
int normal_axis(int axis, int rank, std::string_view op, const Operand& x);
/// The vector along one of `rank` axes, broadcastable along the others.
Variable along_axis(const Variable& vector, int axis, int rank);

}  // namespace croton::ops
