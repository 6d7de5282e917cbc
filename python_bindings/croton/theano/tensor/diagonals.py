"""Diagonals of matrices, and matrices with given diagonals."""

import numpy

from croton import _croton

from ..croton_op import CrotonOp
from ..wrapping import as_variable, wrap
from .constants import as_croton
from .creation import arange, zeros
from .elementwise import eq, switch
from .shapes import shape_padaxis
from .subtensor import set_subtensor


class AllocDiag(CrotonOp):
    """AllocDiag(offset, axis1, axis2)(x): an array of zeros with the last axis of x as the diagonal of two axes."""

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset=0, axis1=0, axis2=1):
        self.offset, self.axis1, self.axis2 = offset, axis1, axis2

    def build(self, x):
        x = as_variable(x)
        if x.ndim == 0:
            raise TypeError("AllocDiag takes a variable of at least one dimension")
        if x.ndim == 1 and (self.axis1, self.axis2) == (0, 1):
            return wrap(_croton.diag(x._croton, self.offset))
        # The diagonal of the last two axes, which are then moved to axis1 and axis2.
        size = x.shape[-1] + abs(self.offset)
        row, column = arange(size), arange(size).dimshuffle(0, "x")
        on = eq(row - column, self.offset)
        placed = zeros([*[x.shape[i] for i in range(x.ndim - 1)], size], x.dtype)
        first = max(self.offset, 0)
        placed = set_subtensor(placed[..., first:first + x.shape[-1]], x)
        whole = switch(on, shape_padaxis(placed, -2), numpy.zeros((), x.dtype))
        ndim = x.ndim + 1
        at = sorted([(self.axis1 % ndim, ndim - 2), (self.axis2 % ndim, ndim - 1)])
        order = list(range(ndim - 2))
        for place, axis in at:
            order.insert(place, axis)
        return whole.dimshuffle(*order)


class ExtractDiag(CrotonOp):
    """ExtractDiag(offset, axis1, axis2)(x): the diagonal of two axes, as a last axis."""

    __props__ = ("offset", "axis1", "axis2", "view")

    def __init__(self, offset=0, axis1=0, axis2=1, view=False):
        self.offset, self.axis1, self.axis2, self.view = offset, axis1, axis2, view

    def build(self, x):
        x = as_variable(x)
        if x.ndim < 2:
            raise ValueError("ExtractDiag needs an input with 2 or more dimensions", x)
        return diagonal(x, self.offset, self.axis1, self.axis2)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The offset-th diagonal of two axes, as a last axis."""
    return wrap(_croton.diagonal(as_croton(a), offset, axis1, axis2))


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with a vector as its k-th diagonal."""
    v = as_variable(v)
    if v.ndim not in (1, 2):
        raise ValueError("Number of dimensions of `v` must be 1 or 2.")
    return (AllocDiag if v.ndim == 1 else ExtractDiag)(k)(v)


def trace(a, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal."""
    return wrap(_croton.trace(as_croton(a), offset, axis1, axis2))


__all__ = ["diagonal", "diag", "trace"]
