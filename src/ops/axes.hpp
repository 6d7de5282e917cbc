// Normalization of the axes that users give, and a dimshuffle for composed operations.
#pragma once

#include <croton/variable.hpp>

#include <string_view>
#include <vector>

namespace croton::ops {

/// Axes in increasing order, with negative ones counted from the end; ValueError for axes outside of the rank or given
/// twice.
std::vector<int> normal_axes(const std::vector<int>& axes, int rank, std::string_view op, const Operand& x);
/// The same for one axis.
int normal_axis(int axis, int rank, std::string_view op, const Operand& x);
/// The vector along one of `rank` axes, broadcastable along the others.
Variable along_axis(const Variable& vector, int axis, int rank);

}  // namespace croton::ops
