"""Reductions: sums, means, extrema and conditions over axes."""

import builtins

import numpy

from croton import _croton

from .. import types
from ..graph import Variable
from ..variables import TensorConstant
from ..wrapping import as_variable, wrap
from .elementwise import isclose, neq


def checked_axes(x, axis):
    """The axes as a list of non-negative numbers, or None for all. ValueError for an axis out of bounds, TypeError for
    one that is not an integer."""
    if axis is None:
        return None
    if isinstance(axis, types.NoneConstant):
        return None
    if isinstance(axis, TensorConstant):
        axis = axis.data
    if isinstance(axis, numpy.ndarray):
        axis = axis.tolist()
    if isinstance(axis, Variable):
        raise TypeError(f"Computation needs a constant axis. Got {axis}")
    several = isinstance(axis, (list, tuple))
    result = []
    for a in (axis if several else [axis]):
        if isinstance(a, TensorConstant):
            a = a.data
        if isinstance(a, (float, numpy.floating)) and float(a) != int(a):
            raise TypeError(f"axis must be an integer, not {a!r}")
        a = int(a)
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"Invalid axis: {axis} (the number of axes of the input is: {x.ndim}): axis is out of "
                             "bounds")
        result.append(a % x.ndim)
    return result


def _reduction(name, doc):
    function = getattr(_croton, name)

    def reduce(input, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        x = as_variable(input)
        return wrap(function(x._croton, checked_axes(x, axis), dtype, keepdims, acc_dtype))

    reduce.__name__ = name
    reduce.__doc__ = doc
    return reduce


sum = _reduction("sum", "The sum over axes (None: all). bool and integers give int64 or uint64; floats keep their "
                        "dtype.")
_prod = _reduction("prod", "")


def prod(input, axis=None, dtype=None, keepdims=False, acc_dtype=None, no_zeros_in_input=False):
    """The product over axes (None: all)."""
    return _prod(input, axis, dtype, keepdims, acc_dtype)


def mean(input, axis=None, dtype=None, op=False, keepdims=False, acc_dtype=None):
    """The mean over axes (None: all). Integers give float64; floats keep their dtype."""
    x = as_variable(input)
    if dtype is not None and str(dtype) not in ("float16", "float32", "float64", "complex64", "complex128", "floatX"):
        raise ValueError(f"mean: the result is a float, not {dtype}")
    return wrap(_croton.mean(x._croton, checked_axes(x, axis), dtype, keepdims, acc_dtype))


def var(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The variance over axes, with the divisor count - ddof."""
    x = as_variable(input)
    return wrap(_croton.var(x._croton, checked_axes(x, axis), ddof, keepdims))


def std(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The standard deviation over axes."""
    x = as_variable(input)
    return wrap(_croton.std(x._croton, checked_axes(x, axis), ddof, keepdims))


def _without_dtype(name, doc, prepared=as_variable):
    """A reduction without a dtype parameter. prepared: converts its operand."""
    function = getattr(_croton, name)

    def reduce(x, axis=None, keepdims=False):
        x = prepared(x)
        return wrap(function(x._croton, checked_axes(x, axis), None, keepdims))

    reduce.__name__ = name
    reduce.__doc__ = doc
    return reduce


def _truth(x):
    x = as_variable(x)
    return x if x.dtype == "bool" else neq(x, 0)


all = _without_dtype("all", "Whether all elements are not 0, over axes.", _truth)
any = _without_dtype("any", "Whether any element is not 0, over axes.", _truth)
max = _without_dtype("max", "The largest element over axes; nan if there is one. Each of several largest ones gets the "
                            "whole gradient.")
_min = _without_dtype("min", "")
argmax = _without_dtype("argmax", "The index (int64) of the first largest element; without axis, in the flattened "
                                  "variable.")
argmin = _without_dtype("argmin", "The index (int64) of the first smallest element; without axis, in the flattened "
                                  "variable.")


def min(x, axis=None, keepdims=False):
    """The smallest element over axes; nan if there is one."""
    x = as_variable(x)
    return all(x, axis, keepdims) if x.dtype == "bool" else _min(x, axis, keepdims)


def max_and_argmax(a, axis=None, keepdims=False):
    """[max, argmax]."""
    x = as_variable(a)
    return list(wrap(tuple(_croton.max_and_argmax(x._croton, checked_axes(x, axis), keepdims))))


def ptp(a, axis=None):
    """The range max - min over an axis."""
    x = as_variable(a)
    return max(x, axis) - min(x, axis)


def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether all elements are close."""
    return all(isclose(a, b, rtol, atol, equal_nan))


# (rtol, atol) for the dtypes of low precision.
_CLOSE = {"float16": (1e-2, 5e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}


def _allclose(a, b, rtol=None, atol=None):
    """Whether two arrays are close, within the rounding errors of the narrower of their dtypes."""
    tolerances = [_CLOSE.get(str(numpy.asarray(x).dtype), (1e-5, 1e-8)) for x in (a, b)]
    return bool(numpy.allclose(a, b, rtol=builtins.max(r for r, _ in tolerances) if rtol is None else rtol,
                               atol=builtins.max(t for _, t in tolerances) if atol is None else atol))


__all__ = ["sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "max_and_argmax", "all", "any",
           "ptp", "allclose"]
