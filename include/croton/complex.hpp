// Complex numbers: their parts, and their construction from real numbers. Arithmetic, powers, exponential,
// trigonometric and hyperbolic functions, comparisons by eq and neq, where, sums, products and dot accept complex
// operands like real ones; operations that need an order raise TypeError. Values at zeros, infinities and nans are
// listed in docs/use/complex.md.
#pragma once

#include <croton/variable.hpp>

namespace croton {

/// The real part: float32 for complex64, float64 for complex128. A real x is returned unchanged.
Variable real(Operand z);
/// The imaginary part, typed as `real`; zeros of x's shape and dtype for a real x.
Variable imag(Operand z);
/// Whether the imaginary part is 0 (is not 0): always (never) for a real x; an imaginary part nan is not 0.
Variable isreal(Operand z);
Variable iscomplex(Operand z);
/// The conjugate x - iy of z = x + iy. A real x is returned unchanged.
Variable conj(Operand z);
inline Variable conjugate(Operand z) { return conj(z); }
/// The angle atan2(y, x) of z = x + iy, in [-pi, pi]; 0 or pi for real numbers, nan for nan. Integers give float32 (up
/// to 16 bits) or float64. Its gradient at 0 is 0.
Variable angle(Operand z);
/// re + i im for two real operands, which broadcast: complex64 if float32 holds both dtypes, else complex128. TypeError
/// for complex operands.
Variable complex(Operand re, Operand im);
/// r (cos(theta) + i sin(theta)), typed as `complex`.
Variable complex_from_polar(Operand r, Operand theta);

}  // namespace croton
