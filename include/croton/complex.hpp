// Complex numbers: their parts, and how they are made of real ones. Arithmetic, powers, exponential, trigonometric and
// hyperbolic functions, comparisons by eq and neq, where, sums, products and dot take complex operands as they take
// real ones; what needs an order raises TypeError. Values at zeros, infinities and nans are listed in
// docs/use/complex.md.
#pragma once

#include <croton/variable.hpp>

namespace croton {

/// The real part: float32 of complex64, float64 of complex128. A real x is returned as it is.
Variable real(Operand z);
/// The imaginary part, as `real`; zeros of x's shape and dtype for a real x.
Variable imag(Operand z);
/// Whether the imaginary part is 0 (is not 0): of a real x always (never), of nan as an imaginary part it is not.
Variable isreal(Operand z);
Variable iscomplex(Operand z);
/// x - iy for z = x + iy. A real x is returned as it is.
Variable conj(Operand z);
inline Variable conjugate(Operand z) { return conj(z); }
/// The angle atan2(y, x) of z = x + iy, in [-pi, pi]; 0 or pi for real numbers, nan of nan. Of integers: float32 (up to
/// 16 bits) or float64. Its gradient at 0 is 0.
Variable angle(Operand z);
/// re + i im of two real operands, which broadcast: complex64 if float32 holds both dtypes, else complex128. TypeError
/// for complex operands.
Variable complex(Operand re, Operand im);
/// r (cos(theta) + i sin(theta)), typed as `complex`.
Variable complex_from_polar(Operand r, Operand theta);

}  // namespace croton
