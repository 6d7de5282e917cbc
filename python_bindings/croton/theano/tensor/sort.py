"""Sorting, and the largest elements."""

import numpy

from croton import _croton

from ..branching import ifelse
from ..croton_op import CrotonOp
from ..graph import Variable
from ..wrapping import as_variable, unwrap, wrap
from .arrays import NotScalarConstantError, get_scalar_constant_value
from .elementwise import eq

_POSITIONS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _along(function, x, axis):
    """function(x, axis) for an axis that may be a scalar variable, whose value is known only in calls."""
    x = as_variable(x)
    if isinstance(axis, Variable):
        try:
            axis = int(get_scalar_constant_value(axis))
        except NotScalarConstantError:
            result = wrap(function(x._croton, x.ndim - 1))
            for k in range(x.ndim - 1):
                chosen = eq(axis, k) + eq(axis, k - x.ndim)
                result = ifelse(chosen, wrap(function(x._croton, k)), result)
            return result
    return wrap(function(x._croton, int(axis)))


class _Sorting(CrotonOp):
    """Base of the sorting ops. All kinds of Theano use a stable sort."""

    __props__ = ("kind", "order")
    _function = None

    def __init__(self, kind="quicksort", order=None):
        self.kind, self.order = kind, order

    def build(self, x, axis=-1):
        return _along(self._function, x, axis)


class SortOp(_Sorting, shows=("sort",)):
    """SortOp(kind)(x, axis): the elements in ascending order along an axis."""

    _function = staticmethod(_croton.sort)


class ArgSortOp(_Sorting, shows=("argsort",)):
    """ArgSortOp(kind)(x, axis): the positions (int64) that sort x along an axis; equal elements keep their order."""

    _function = staticmethod(_croton.argsort)


class TopKOp(CrotonOp):
    """TopKOp(axis)(x, kth): the kth largest elements (-kth smallest), their positions, or both. NotImplementedError for
    sorted=True, as in Theano."""

    __props__ = ("axis", "sorted", "return_values", "return_indices", "idx_dtype")

    def __init__(self, axis=-1, sorted=True, idx_dtype="int64", return_values=True, return_indices=True):
        if sorted:
            raise NotImplementedError("We are still working on sorted topk. Use sorted=False for now.")
        if not isinstance(axis, int):
            raise TypeError(f'"axis" parameter must be integer, got "{type(axis)}"')
        if idx_dtype not in _POSITIONS:
            raise TypeError(f'"idx_dtype" parameter must be an integer dtype, got "{idx_dtype}"')
        if not return_values and not return_indices:
            raise ValueError("Neither return_values nor return_indices is True, this isn't allowed")
        self.axis, self.sorted, self.idx_dtype = axis, sorted, idx_dtype
        self.return_values, self.return_indices = return_values, return_indices

    def build(self, x, kth):
        x = as_variable(x)
        if isinstance(kth, (int, numpy.integer)) and kth == 0:
            raise ValueError("topk: kth cannot be zero")
        results = []
        if self.return_values:
            results.append(wrap(_croton.topk(x._croton, unwrap(kth), self.axis)))
        if self.return_indices:
            results.append(wrap(_croton.argtopk(x._croton, unwrap(kth), self.axis, False, self.idx_dtype)))
        return results


def sort(self, axis=-1, kind="quicksort", order=None):
    """The elements in ascending order along an axis (None: of the flattened variable)."""
    return SortOp(kind, order)(*_flat(self, axis))


def argsort(self, axis=-1, kind="quicksort", order=None):
    """The positions (int64) that sort x along an axis (None: the flattened variable); equal elements keep their
    order."""
    return ArgSortOp(kind, order)(*_flat(self, axis))


def topk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The kth largest elements (-kth smallest) along an axis, in unspecified order."""
    x, axis = _flat(x, axis)
    return TopKOp(axis, sorted, idx_dtype, return_indices=False)(x, kth)


def argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The positions of the kth largest elements (-kth smallest) along an axis, in unspecified order."""
    x, axis = _flat(x, axis)
    return TopKOp(axis, sorted, idx_dtype, return_values=False)(x, kth)


def topk_and_argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """[topk, argtopk]."""
    x, axis = _flat(x, axis)
    return TopKOp(axis, sorted, idx_dtype)(x, kth)


def _flat(x, axis):
    """The variable and the axis; for axis=None the flattened variable and its only axis."""
    x = as_variable(x)
    return (x.flatten(), 0) if axis is None else (x, axis)


__all__ = ["ArgSortOp", "SortOp", "TopKOp", "sort", "argsort", "topk", "argtopk", "topk_and_argtopk"]
