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
/// f(x) of x in floats, where f takes several steps: for 16 bits it is computed in float32 and rounded once.
template <class F>
Variable in_one_rounding(const Operand& x, const F& f) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x);
  const DType wide = compute_dtype(v.dtype());
  return wide == v.dtype() ? f(v) : cast(f(cast(v, wide)), v.dtype());
}
/// The same of two operands, whose common dtype the result has.
template <class F>
Variable in_one_rounding(const Operand& x, const Operand& y, const F& f) {
  const builder::OriginScope origin(x.where);
  const Variable v = in_floats(x), w = in_floats(y);
  const DType dtype = promote(v.dtype(), w.dtype()), wide = compute_dtype(dtype);
  return wide == dtype ? f(v, w) : cast(f(cast(v, wide), cast(w, wide)), dtype);
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
