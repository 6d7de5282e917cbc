"""Factorizations, systems of equations and the matrix exponential, on the host, by NumPy."""

import numpy

from croton import _croton

from ..types import NoneConstant
from ..wrapping import as_variable, wrap
from . import arrays, host
from .nlinalg import eigh, matrix_inverse
from .solving import Solve, solve, solve_lower_triangular, solve_symmetric, solve_upper_triangular  # noqa: F401


class Cholesky:
    """The Cholesky factor L of a positive definite matrix A = L L^T (with lower=False, U of U^T U). on_error: "raise"
    (LinAlgError) or "nan"."""

    def __init__(self, lower=True, on_error="raise"):
        if on_error not in ("raise", "nan"):
            raise ValueError('on_error must be one of "raise" or ""nan"')
        self.lower, self.on_error = lower, on_error

    def __call__(self, x):
        x = host.as_float(host.square(x, "cholesky"))

        def compute(a):
            try:
                factor = numpy.linalg.cholesky(numpy.tril(a) + numpy.tril(a, -1).T if self.lower else
                                               numpy.triu(a).T + numpy.triu(a, 1))
                return numpy.ascontiguousarray(factor if self.lower else factor.T, a.dtype)
            except numpy.linalg.LinAlgError:
                if self.on_error == "raise":
                    raise
                return numpy.full(a.shape, numpy.nan, a.dtype)

        def gradient(inputs, outputs, gs):
            # Smith (1995), in matrix form: Phi is the lower half with half of the diagonal.
            factor, g = outputs[0], gs[0]
            if not self.lower:
                factor, g = factor.T, g.T
            inner = arrays.tril(arrays.dot(factor.T, g))
            inner = inner - arrays.diag(arrays.diag(inner)) * arrays.constant(0.5, dtype=factor.dtype)
            s = solve_upper_triangular(factor.T, solve_upper_triangular(factor.T, inner).T).T
            whole = s + s.T - arrays.diag(arrays.diag(s))
            result = arrays.tril(whole)
            return [result if self.lower else result.T]

        return host.run("cholesky", compute, host.like, host.wrapped(gradient), x)


def cholesky(x, lower=True, on_error="raise"):
    """The Cholesky factor of a positive definite matrix; see Cholesky."""
    return Cholesky(lower, on_error)(x)


def kron(a, b):
    """The Kronecker product."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim + b.ndim <= 2:
        raise TypeError(f"kron: inputs dimensions must sum to 3 or more. You passed {a.ndim} and {b.ndim}.")
    return wrap(_croton.kron(a._croton, b._croton))


def eigvalsh(a, b=None, lower=True):
    """The eigenvalues of a symmetric matrix, or the generalized ones of a x = w b x."""
    if b is None or isinstance(b, NoneConstant):
        return eigh(a, "L" if lower else "U")[0]
    inverse = matrix_inverse(cholesky(b))
    return eigh(arrays.dot(arrays.dot(inverse, a), inverse.T))[0]


def expm(A):
    """The matrix exponential, the sum of A^k / k!, by the diagonal Pade approximant of order 13 and squaring (Higham,
    The scaling and squaring method for the matrix exponential revisited, 2005). Its gradient is the exponential of a
    block matrix (Higham, Functions of Matrices, 2008, (10.40))."""
    A = host.as_float(host.square(A, "expm"))

    def gradient(inputs, outputs, gs):
        back, n = inputs[0].T, inputs[0].shape[0]
        blocks = arrays.concatenate([arrays.concatenate([back, gs[0]], axis=1),
                                     arrays.concatenate([arrays.zeros_like(back), back], axis=1)], axis=0)
        return [expm(blocks)[:n, n:]]

    return host.run("expm", _expm, host.like, host.wrapped(gradient), A)


# The coefficients of numerator and denominator, and the norm below which the approximant is exact to double precision.
_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)
_PADE_BOUND = 5.371920351148152


def _expm(a):
    """The matrix exponential of an array."""
    dtype, a = a.dtype, a.astype("complex128" if a.dtype.kind == "c" else "float64")
    norm = numpy.abs(a).sum(0).max(initial=0)
    if not numpy.isfinite(norm):
        return numpy.full(a.shape, numpy.nan, dtype)
    squarings = max(0, int(numpy.ceil(numpy.log2(norm / _PADE_BOUND)))) if norm > 0 else 0
    a, one = a / 2.0**squarings, numpy.eye(len(a))
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    c = _PADE
    odd = a @ (a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one)
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    result = numpy.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return result.astype(dtype)


__all__ = ["Cholesky", "cholesky", "Solve", "solve", "solve_lower_triangular", "solve_upper_triangular",
           "solve_symmetric", "kron", "eigvalsh", "expm"]
