"""Sorting."""

import numpy

from croton import _croton

from ..variables import Variable, as_variable, unwrap, wrap
from .arrays import NotScalarConstantError, get_scalar_constant_value
from .elementwise import eq


def _along(function, x, axis):
    """function(x, axis), of an axis that may be a scalar variable, whose value is found when a function is called."""
    x = as_variable(x)
    if isinstance(axis, Variable):
        try:
            axis = int(get_scalar_constant_value(axis))
        except NotScalarConstantError:
            from ..branching import ifelse
            result = wrap(function(x._croton, x.ndim - 1))
            for k in range(x.ndim - 1):
                chosen = eq(axis, k) + eq(axis, k - x.ndim)
                result = ifelse(chosen, wrap(function(x._croton, k)), result)
            return result
    return wrap(function(x._croton, None if axis is None else int(axis)))


def sort(self, axis=-1, kind="quicksort", order=None):
    """The elements in rising order along an axis (None: of the flattened variable)."""
    return _along(_croton.sort, self, axis)


def argsort(self, axis=-1, kind="quicksort", order=None):
    """The positions of the elements in rising order, int64; equal ones stay in their order."""
    return _along(_croton.argsort, self, axis)


def topk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The kth largest elements (-kth smallest) along an axis, in no order that is promised."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """Their positions."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[1]


def topk_and_argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """[topk, argtopk]. NotImplementedError for sorted=True, as in Theano."""
    if sorted:
        raise NotImplementedError("We are still working on sorted topk. Use sorted=False for now.")
    x = as_variable(x)
    if isinstance(kth, (int, numpy.integer)) and kth == 0:
        raise ValueError("topk: kth cannot be zero")
    if idx_dtype not in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        raise TypeError(f'"idx_dtype" parameter must be an integer dtype, got "{idx_dtype}"')
    if axis is None:
        x, axis = x.flatten(), 0
    values = wrap(_croton.topk(x._croton, unwrap(kth), axis))
    positions = wrap(_croton.argtopk(x._croton, unwrap(kth), axis, False, idx_dtype))
    return [values, positions]


__all__ = ["sort", "argsort", "topk", "argtopk", "topk_and_argtopk"]
