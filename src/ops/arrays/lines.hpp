// Shared code of ops along one axis: running sums, sorting, reads at computed positions.
#pragma once

#include <croton/variable.hpp>

#include "expr/op.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace croton::ops {

/// The attribute `axis`, checked to be an axis of that input: a parsed text may have any number.
std::size_t line_axis(const expr::InferContext& context, std::size_t input);

/// x and the axis (0 or more); without an axis the flattened x. A 0-d variable is a vector of one. TypeError.
std::pair<Variable, int> flat_or_axis(const Operand& x, std::optional<int> axis, std::string_view op);

/// x[at] of a vector x and int64 positions of any shape: 0 for positions outside of x. The gradients of repeated
/// positions are added.
Variable pick(const Variable& x, const Variable& at);
/// x[at] along an axis, for an int64 vector `at` of positions inside the axis; for the first axis also -1, which reads
/// zeros.
Variable take_along(const Variable& x, const Variable& at, int axis);
/// For each element of `at`, which has x's shape except for the size of the axis: the element of x in the same line at
/// that position.
Variable take_in_lines(const Variable& x, const Variable& at, int axis);

}  // namespace croton::ops
