// Elementwise helpers that several composed operations share.
#pragma once

#include <croton/complex.hpp>
#include <croton/variable.hpp>

#include <string_view>

namespace croton::ops {

/// x, with integers and bool converted to floatX.
Variable in_floats(const Operand& x);
/// TypeError of the operation `op` for complex numbers.
void demand_real(const Operand& x, std::string_view op);
/// sin(pi z) / (pi z) of complex z.
Variable complex_sinc(const Operand& z);
/// nextafter(a, b) of float16 or bfloat16.
Variable narrow_neighbour(const Operand& a, const Operand& b, DType dtype);
/// Applies f to the real and to the imaginary part of complex numbers.
template <class F>
Variable of_parts(const Variable& z, F f) {
  return complex(f(real(z)), f(imag(z)));
}
/// An op of integers. uint64 and signed dtypes have no common integer dtype: together with uint64, a constant that is
/// not negative becomes uint64, too.
Variable integer_op(std::string_view op, const Operand& a, const Operand& b);

}  // namespace croton::ops
