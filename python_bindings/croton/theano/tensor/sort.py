"""Sorting."""

from croton import _croton

from ..variables import Variable, as_variable, unwrap, wrap
from .arrays import get_scalar_constant_value


def _axis(axis):
    if isinstance(axis, Variable):
        axis = get_scalar_constant_value(axis)
    return None if axis is None else int(axis)


def sort(self, axis=-1, kind="quicksort", order=None):
    """The elements in rising order along an axis (None: of the flattened variable)."""
    return wrap(_croton.sort(as_variable(self)._croton, _axis(axis)))


def argsort(self, axis=-1, kind="quicksort", order=None):
    """The positions of the elements in rising order, int64; equal ones stay in their order."""
    return wrap(_croton.argsort(as_variable(self)._croton, _axis(axis)))



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
    if axis is None:
        x, axis = x.flatten(), 0
    values = wrap(_croton.topk(x._croton, unwrap(kth), axis))
    positions = wrap(_croton.argtopk(x._croton, unwrap(kth), axis, idx_dtype))
    return [values, positions]


__all__ = ["sort", "argsort", "topk", "argtopk", "topk_and_argtopk"]
