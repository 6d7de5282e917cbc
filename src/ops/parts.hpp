// Small steps that several composed operations share.
#pragma once

#include <croton/complex.hpp>
#include <croton/variable.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace croton::ops {

/// x, integers and bool as floatX.
Variable in_floats(const Operand& x);
/// TypeError of the operation `op` for complex numbers, which have no meaning to it.
void demand_real(const Operand& x, std::string_view op);
/// sin(pi z) / (pi z) of complex z.
Variable complex_sinc(const Operand& z);
/// nextafter(a, b) of float16 or bfloat16.
Variable narrow_neighbour(const Operand& a, const Operand& b, DType dtype);
/// f of the real and of the imaginary part of complex numbers.
template <class F>
Variable of_parts(const Variable& z, F f) {
  return complex(f(real(z)), f(imag(z)));
}
/// The dtype in which both are computed. Integers of 64 bits with and without sign are not: they wrap alike, and floats
/// would lose their last bits.
inline DType common_dtype(DType own, DType result) {
  const DType both = promote(own, result);
  const bool whole = is_discrete(own) && is_discrete(result);
  return !whole || is_discrete(both) ? both : is_unsigned_int(own) ? DType::uint64 : DType::int64;
}
/// An op of whole numbers: beside uint64, with which signed dtypes have no whole dtype in common, a number that is not
/// negative is one, too.
Variable of_whole(std::string_view op, const Operand& a, const Operand& b);
/// start:stop:step along one axis, all of the others.
Variable part_along(const Variable& x, int axis, std::optional<Operand> start, std::optional<Operand> stop,
                    std::optional<Operand> step = {});
/// Each slice along the axis so many times in a row, an integer scalar.
Variable repeat_each(const Variable& x, const Variable& times, int axis);
/// TypeError of the operation `op` on `x` unless the number is an integer scalar.
void demand_whole(std::string_view op, const Operand& x, std::string_view what, const Operand& number);
/// TypeError unless the number is an integer or bool scalar; of one that is known ValueError below 0, and ShapeError
/// where int64 does not hold it.
void demand_count(std::string_view op, const Operand& x, std::string_view what, const Operand& number);
/// A size as int64; what is constant stays so, and types then state the size. ShapeError, when the function is called,
/// for a uint64 that int64 does not hold.
Variable whole_number(const Variable& number);
/// Indices as int64 (builder::as_index).
Variable whole_index(const Variable& index);
/// 0, 1, ..., count - 1. Unlike arange, which has no numbers below a negative one, it takes sizes only (ShapeError).
Variable numbers_below(const Variable& count, Where where);
/// The number, as a size: it is not negative, and what its arithmetic says (ShapeError).
Variable as_size(const Variable& number, Where where);
/// An array of these sizes, for its sizes: none is negative, and an index can count the elements (ShapeError).
Variable array_of_sizes(const std::vector<Operand>& sizes, Where where);
/// `a op b` of sizes, a number where both are: types then state the result.
Variable size_arithmetic(std::string_view op, const Variable& a, const Variable& b);
/// Numbers that become Operands inside std::pair or std::optional note a line of that: they get this one.
void take_line(const Operand& number, Where where);
/// specify_shape with a reason of its own.
Variable stated(const Variable& x, const std::vector<std::optional<Operand>>& shape, std::string_view why);
/// The same of one axis.
Variable stated(const Variable& x, int axis, const Operand& size, std::string_view why);

}  // namespace croton::ops
