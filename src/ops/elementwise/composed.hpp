// Elementwise helpers that several composed operations share.
#pragma once

#include <croton/complex.hpp>
#include <croton/elementwise.hpp>
#include <croton/variable.hpp>

#include <string_view>

#include "builder/gradient_context.hpp"

namespace croton::ops {

/// x, with integers and bool converted to floatX.
Variable in_floats(const Operand& x);
/// x in the dtype in which kernels compute: floats of 16 bits as float32.
inline Variable widened(const Variable& x) { return cast(x, compute_dtype(x.dtype())); }
/// The result of several steps in that dtype, rounded to `dtype` if that has 16 bits.
inline Variable narrowed(const Variable& result, DType dtype) {
  return compute_dtype(dtype) == dtype ? result : cast(result, dtype);
}
/// f(x) of x in floats, where f takes several steps: for 16 bits it is computed in float32 and rounded once.
template <class F>
Variable in_one_rounding(const Operand& x, const F& f) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  return narrowed(f(widened(v)), v.dtype());
}
/// The same of two operands, whose common dtype the result has.
template <class F>
Variable in_one_rounding(const Operand& x, const Operand& y, const F& f) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x), w = in_floats(y);
  return narrowed(f(widened(v), widened(w)), promote(v.dtype(), w.dtype()));
}
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
