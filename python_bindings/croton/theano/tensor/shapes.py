"""Shapes: reshaping, permuting and adding axes, and stating sizes."""

from croton import _croton

from ..variables import TensorVariable
from ..wrapping import as_sizes, as_variable, vector_elements, wrap
from .constants import as_croton
from .reductions import checked_axes


def shape(x):
    """The sizes of x, a vector of int64."""
    return as_variable(x).shape


def shape_i(x, i):
    """The size of axis i."""
    return as_variable(x).shape[i]


def reshape(x, newshape, ndim=None, name=None):
    """The elements of x, in C order, with another shape; one size may be -1. A literal 1 makes an axis that broadcasts.
    A vector of unknown length as shape needs ndim."""
    x = as_variable(x)
    if ndim is not None and isinstance(newshape, TensorVariable) and vector_elements(newshape._croton) is None:
        sizes = as_sizes(newshape, ndim)
    else:
        try:
            sizes = as_sizes(newshape, ndim)
        except ValueError:
            raise ValueError("The length of the provided shape cannot be automatically determined, so Theano is not "
                             "able to know what the number of dimensions of the reshaped variable will be. You can "
                             "provide the 'ndim' keyword argument to 'reshape' to avoid this problem.") from None
    if ndim is not None and ndim != len(sizes):
        raise ValueError(f"newshape argument to Reshape has incorrect length {len(sizes)}, should be {ndim}")
    result = wrap(_croton.reshape(x._croton, sizes))
    if name is not None:
        result.name = name
    return result


def flatten(x, ndim=1, outdim=None):
    """x with ndim dimensions: the last ones are merged into one."""
    x = as_variable(x)
    ndim = outdim if outdim is not None else ndim
    ndim = 1 if ndim is None else ndim
    if ndim < 1 or (ndim > max(1, x.ndim)):
        raise ValueError(f"ndim {ndim} out of bound [1, {x.ndim + 1})")
    result = wrap(_croton.flatten(x._croton, ndim))
    return addbroadcast(result, ndim - 1) if x.ndim and all(x.broadcastable[ndim - 1:]) else result


def is_flat(var, ndim=None, outdim=None):
    """Whether the variable has the number of dimensions that flatten would return."""
    return var.ndim == (outdim or ndim or 1)


def transpose(x, axes=None):
    """x with its axes reversed, or in the given order."""
    x = as_variable(x)
    axes = list(range(x.ndim))[::-1] if axes is None else [int(a) for a in axes]
    result = wrap(_croton.transpose(x._croton, [a % x.ndim if -x.ndim <= a < x.ndim else a for a in axes]))
    if x.name and axes == list(range(x.ndim))[::-1] and result is not x:
        result.name = x.name + ".T"
    return result


def dimshuffle(x, *pattern):
    """x with its axes permuted: axis i of the result is axis pattern[i] of x, or a new one of size 1 if it is "x".
    ValueError for an omitted axis whose size may differ from 1."""
    x = as_variable(x)
    if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
        pattern = pattern[0]
    return wrap(_croton.dimshuffle(x._croton, checked_pattern(pattern, x.broadcastable)))


def checked_pattern(pattern, broadcastable):
    """The pattern of dimshuffle for such a variable, with non-negative axes. ValueError if it is invalid."""
    ndim = len(broadcastable)
    axes = [p if p == "x" else int(p) + (ndim if int(p) < 0 else 0) for p in pattern]
    for p in axes:
        if p != "x" and not 0 <= p < ndim:
            raise ValueError(f"new_order[{axes.index(p)}] is {p}, but the input only has {ndim} axes.")
    old_axes = [p for p in axes if p != "x"]
    if len(set(old_axes)) != len(old_axes):
        raise ValueError(f"The same input dimension may not appear twice in the list of output dimensions {axes}")
    for axis in range(ndim):
        if axis not in old_axes and not broadcastable[axis]:
            raise ValueError(f"You cannot drop a non-broadcastable dimension: {axis} of {broadcastable}, pattern "
                             f"{axes}")
    return axes


def shape_padleft(t, n_ones=1):
    """t with n_ones new axes of size 1 on the left."""
    return wrap(_croton.shape_padleft(as_croton(t), n_ones))


def shape_padright(t, n_ones=1):
    """t with n_ones new axes of size 1 on the right."""
    return wrap(_croton.shape_padright(as_croton(t), n_ones))


def shape_padaxis(t, axis):
    """t with a new axis of size 1 at this position of the result. IndexError if it is out of bounds."""
    t = as_variable(t)
    if not -(t.ndim + 1) <= axis < t.ndim + 1:
        raise IndexError(f"axis {axis} is out of bounds [-{t.ndim + 1}, {t.ndim + 1})")
    return wrap(_croton.shape_padaxis(t._croton, axis))


def squeeze(x, axis=None):
    """x without its axes of size 1 that are known when the expression is built; ValueError for other axes."""
    x = as_variable(x)
    if axis is None:
        return wrap(_croton.squeeze(x._croton))
    return wrap(_croton.squeeze(x._croton, checked_axes(x, axis)))


def swapaxes(y, axis1, axis2):
    """y with two axes exchanged. IndexError for axes out of bounds."""
    y = as_variable(y)
    for axis in (axis1, axis2):
        if not -y.ndim <= axis < y.ndim:
            raise IndexError(f"swapaxes: axis {axis} of {y.ndim} dimensions")
    return wrap(_croton.swapaxes(y._croton, axis1, axis2))


def addbroadcast(x, *axes):
    """x with these axes stated to have size 1, which is checked in calls."""
    axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    x = as_variable(x)
    new = [a for a in _axes_of(x, axes) if not x.broadcastable[a]]
    return wrap(_croton.addbroadcast(x._croton, *new)) if new else x


def _axes_of(x, axes):
    """The axes as non-negative numbers. ValueError for an axis out of bounds."""
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"Trying to rebroadcast non-existent dimension {axis} of {x} ({x.ndim} dimensions)")
    return [axis % x.ndim for axis in axes]


def unbroadcast(x, *axes):
    """x with these axes not broadcasting, whatever their size."""
    x = as_variable(x)
    axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    axes = [a for a in _axes_of(x, axes) if x.broadcastable[a]]
    return wrap(_croton.unbroadcast(x._croton, *axes)) if axes else x


def patternbroadcast(x, broadcastable):
    """x with exactly these axes stated to have size 1, which is checked in calls."""
    x = as_variable(x)
    if tuple(broadcastable) == x.broadcastable:
        return x
    gained = [a for a, (new, old) in enumerate(zip(broadcastable, x.broadcastable)) if new and not old]
    lost = [a for a, (new, old) in enumerate(zip(broadcastable, x.broadcastable)) if old and not new]
    return unbroadcast(addbroadcast(x, *gained) if gained else x, *lost)


def specify_shape(x, shape):
    """x with stated sizes, which are checked in calls."""
    return wrap(_croton.specify_shape(as_croton(x), as_sizes(shape)))


__all__ = ["shape", "shape_i", "reshape", "flatten", "is_flat", "transpose", "dimshuffle", "shape_padleft",
           "shape_padright", "shape_padaxis", "squeeze", "swapaxes", "addbroadcast", "unbroadcast", "patternbroadcast",
           "specify_shape"]
