// Parts, sizes, counts and positions of arrays, for composed operations.
#pragma once

#include <croton/variable.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace croton::ops {

/// The dtype in which `own` is accumulated for `result`. Signed and unsigned integers are accumulated in 64-bit
/// integers: they wrap in the same way, and floats would lose the last bits.
inline DType common_dtype(DType own, DType result) {
  const DType both = promote(own, result);
  const bool whole = is_discrete(own) && is_discrete(result);
  return !whole || is_discrete(both) ? both : is_unsigned_int(own) ? DType::uint64 : DType::int64;
}
/// start:stop:step along one axis, the other axes whole.
Variable part_along(const Variable& x, int axis, std::optional<Operand> start, std::optional<Operand> stop,
                    std::optional<Operand> step = {});
/// Repeats each slice along the axis `times` times in a row; `times` is an integer scalar.
Variable repeat_each(const Variable& x, const Variable& times, int axis);
/// TypeError of the operation `op` on `x` unless the number is an integer scalar.
void demand_whole(std::string_view op, const Operand& x, std::string_view what, const Operand& number);
/// TypeError unless the number is an integer or bool scalar; for constants ValueError below 0, and ShapeError if int64
/// cannot hold it.
void demand_count(std::string_view op, const Operand& x, std::string_view what, const Operand& number);
/// A size as int64; constants stay constant, so that types state the size. ShapeError, when the function is called, for
/// a uint64 that int64 cannot hold.
Variable whole_number(const Variable& number);
/// Indices as int64 (builder::as_index).
Variable whole_index(const Variable& index);
/// 0, 1, ..., count - 1. ShapeError for a negative count, for which arange is empty.
Variable numbers_below(const Variable& count, Where where);
/// The number as a size: ShapeError if it is negative or its arithmetic overflows.
Variable as_size(const Variable& number, Where where);
/// An array of these sizes, of which only the sizes are used: ShapeError if one is negative or there are too many
/// elements for an index.
Variable array_of_sizes(const std::vector<Operand>& sizes, Where where);
/// `a op b` of sizes; a constant if both are constants, so that types state the result.
Variable size_arithmetic(std::string_view op, const Variable& a, const Variable& b);
/// Numbers that become Operands inside std::pair or std::optional record a line of these headers: this replaces it by
/// the user's line.
void replace_line(const Operand& number, Where where);
/// specify_shape with the message `why`.
Variable require_shape(const Variable& x, const std::vector<std::optional<Operand>>& shape, std::string_view why);
/// The same for one axis.
Variable require_shape(const Variable& x, int axis, const Operand& size, std::string_view why);

}  // namespace croton::ops
