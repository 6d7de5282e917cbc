// What ops along one axis share: running sums, sorting, reading at computed positions.
#pragma once

#include <croton/variable.hpp>

#include "expr/op.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace croton::ops {

/// The attribute `axis`, found to be an axis of that input: texts may hold anything.
std::size_t line_axis(const expr::InferContext& context, std::size_t input);

/// x and the axis (0 or more); without an axis the flattened x. A 0-d variable is a vector of one. TypeError.
std::pair<Variable, int> flat_or_axis(const Operand& x, std::optional<int> axis, std::string_view op);

/// x[at], x being a vector and `at` int64 of any shape: 0 where a position lies outside x. Its gradient
/// adds up where positions repeat.
Variable pick(const Variable& x, const Variable& at);
/// x[at] along an axis, `at` an int64 vector of positions that lie in it; along the first axis also -1, which gives
/// zeros.
Variable take_along(const Variable& x, const Variable& at, int axis);
/// For each element of `at`, of x's shape but for the size of the axis: the element of x in the same line there.
Variable take_in_lines(const Variable& x, const Variable& at, int axis);

}  // namespace croton::ops
