"""Products of matrices and tensors, norms and covariances."""

import builtins

import numpy

from croton import _croton

from ..wrapping import as_variable, wrap
from .elementwise import cast, neq
from .joining import concatenate
from .reductions import max, mean, min, sum


def dot(a, b):
    """The sum of products over the last axis of a and the last but one of b; a scalar operand scales the other one."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        return tensordot(a, b, [[a.ndim - 1], [builtins.max(0, b.ndim - 2)]])
    return wrap(_croton.dot(a._croton, b._croton))


def tensordot(a, b, axes=2):
    """The sum of products over the last `axes` axes of a and the first of b, or over a pair of lists of axes.
    ValueError for invalid axes."""
    a, b = as_variable(a), as_variable(b)
    if isinstance(axes, (int, numpy.integer)) or (isinstance(axes, numpy.ndarray) and axes.ndim == 0):
        axes = int(axes)
        if axes > a.ndim or axes > b.ndim:
            raise ValueError(f"axes {axes} are more than the dimensions of a ({a.ndim}) or b ({b.ndim})")
        return wrap(_croton.tensordot(a._croton, b._croton, axes))
    if not isinstance(axes, (list, tuple, numpy.ndarray)) or len(axes) != 2:
        raise ValueError("Axes should be an integer or a list/tuple of len 2 (%s was provided)" % str(axes))
    first, second = ([int(x)] if isinstance(x, (int, numpy.integer)) else [int(i) for i in x] for x in axes)
    if len(first) != len(second):
        raise ValueError("Axes elements must have the same length.")
    for x, x_axes, name in ((a, first, "a"), (b, second, "b")):
        if len(x_axes) > x.ndim:
            raise ValueError(f"axes of {name} {x_axes} are more than its {x.ndim} dimensions")
        for axis in x_axes:
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"axis {axis} of {name} does not exist: it has {x.ndim} dimensions")
    return wrap(_croton.tensordot(a._croton, b._croton, [first, second]))


def outer(x, y):
    """The matrix x[i] * y[j] of the elements of the flattened x and y."""
    x, y = as_variable(x), as_variable(y)
    return dot(x.flatten().dimshuffle(0, "x"), y.flatten().dimshuffle("x", 0))


def batched_dot(a, b):
    """The dot of each pair of slices along the first axis."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim == 0:
        raise TypeError("a must have at least one (batch) axis")
    if b.ndim == 0:
        raise TypeError("b must have at least one (batch) axis")
    if a.ndim == 1:
        return a.dimshuffle(*([0] + ["x"] * (b.ndim - 1))) * b
    if b.ndim == 1:
        return a * b.dimshuffle(*([0] + ["x"] * (a.ndim - 1)))
    if a.ndim > 3 or b.ndim > 3:
        return batched_tensordot(a, b, [[a.ndim - 1], [builtins.max(1, b.ndim - 2)]])
    return wrap(_croton.batched_dot(a._croton, b._croton))


def batched_tensordot(x, y, axes=2):
    """The tensordot of each pair of slices along the first axis, which must not be in axes."""
    x, y = as_variable(x), as_variable(y)
    if isinstance(axes, int):
        return wrap(_croton.batched_tensordot(x._croton, y._croton, axes))
    first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    return wrap(_croton.batched_tensordot(x._croton, y._croton, [first, second]))


def norm(x, ord):
    """The norm (sum |x|^ord)^(1 / ord) of all elements; "inf": the largest |x|, "-inf": the smallest."""
    x = as_variable(x)
    if x.ndim == 0:
        raise ValueError("'axis' entry is out of bounds.")
    if ord in ("inf", "-inf"):
        return max(abs(x)) if ord == "inf" else min(abs(x))
    if ord == 0:
        return cast(neq(x, 0), x.dtype).sum()
    return sum(abs(x)**ord)**(1.0 / ord)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """The covariance matrix of the rows (rowvar) or columns of m, followed by those of y, as numpy.cov."""
    m = as_variable(m)
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov: weights are not supported; multiply the observations by them before")
    if not rowvar and m.shape[0] != 1:
        m = m.T
    if y is not None:
        y = as_variable(y)
        m = concatenate([m, y if rowvar else y.T], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = m.shape[1] - ddof
    m = m - mean(m, axis=1, keepdims=True)
    return dot(m, m.T.conj()) / cast(count, m.dtype) if m.dtype.startswith("float") else dot(m, m.T) / count


__all__ = ["dot", "tensordot", "outer", "batched_dot", "batched_tensordot", "norm", "cov"]
