"""Fourier transforms of real signals along the last axes, on the host, by NumPy. Complex numbers are pairs of real ones
along a last axis, as in Theano."""

import numpy

from ..wrapping import as_variable
from . import host


def _scale(norm, n):
    if norm is None or norm == "no_norm":
        return 1.0
    if norm == "ortho":
        return 1.0 / numpy.sqrt(n)
    raise ValueError("Invalid value %s for norm, must be None, 'ortho' or 'no norm'" % norm)


def rfft(inp, norm=None):
    """The Fourier transform of each signal along all axes but the first: (batch, n..., m / 2 + 1, 2)."""
    inp = as_variable(inp)
    axes = tuple(range(1, inp.ndim))

    def compute(a):
        z = numpy.fft.rfftn(a, axes=axes) * _scale(norm, numpy.prod(a.shape[1:]))
        return numpy.stack([z.real, z.imag], -1).astype(a.dtype)

    def results(v):
        sizes = list(v.shape)
        return v.dtype, [*sizes[:-1], sizes[-1] // 2 + 1, 2]

    def gradient(inputs, outputs, gs):
        return [_transposed(gs[0], inputs[0], norm)]

    return host.run("rfft", compute, results, host.wrapped(gradient), inp)


def _transposed(g, like, norm):
    """The gradient of rfft: the sum over frequencies of g's conjugate, as an inverse transform."""
    axes = tuple(range(1, like.ndim))

    def compute(a, x):
        z = a[..., 0] + 1j * a[..., 1]
        full = numpy.zeros((*x.shape[:-1], x.shape[-1]), complex)
        full[..., :z.shape[-1]] = z
        return (numpy.fft.fftn(full.conj(), axes=axes).real * _scale(norm, numpy.prod(x.shape[1:]))).astype(x.dtype)

    return host.run("rfft_gradient", compute, lambda a, x: (x.dtype, list(x.shape)), None, g, like)


def irfft(inp, norm=None, is_odd=False):
    """The inverse of rfft. is_odd: the last axis of the signal has an odd size."""
    inp = as_variable(inp)
    if is_odd not in (True, False):
        raise ValueError(f"Invalid value {is_odd} for id_odd, must be True or False")
    axes = tuple(range(1, inp.ndim - 1))

    def sizes(a):
        return [*a.shape[1:-2], (a.shape[-2] - 1) * 2 + int(is_odd)]

    def compute(a):
        z = a[..., 0] + 1j * a[..., 1]
        n = numpy.prod(sizes(a))
        scale = {"ortho": numpy.sqrt(n), "no_norm": n}.get(norm, 1.0)
        return (numpy.fft.irfftn(z, s=sizes(a), axes=axes) * scale).astype(a.dtype)

    def results(v):
        shape = list(v.shape)
        return v.dtype, [*shape[:-2], (shape[-2] - 1) * 2 + int(is_odd)]

    def gradient(inputs, outputs, gs):
        def back(g):
            n = numpy.prod(g.shape[1:])
            z = numpy.fft.rfftn(g, axes=tuple(range(1, g.ndim)))
            z = z * {"ortho": 1 / numpy.sqrt(n), "no_norm": 1.0}.get(norm, 1.0 / n)
            last = g.shape[-1]
            z[..., 1:(last + 1) // 2] *= 2
            return numpy.stack([z.real, z.imag], -1).astype(g.dtype)

        return [host.run("irfft_gradient", back, lambda g: (g.dtype, list(inputs[0]._croton.shape)), None, gs[0])]

    return host.run("irfft", compute, results, host.wrapped(gradient), inp)
