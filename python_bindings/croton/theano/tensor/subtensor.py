"""Indexing, and variables with parts replaced."""

from croton import _croton

from ..variables import TensorVariable
from ..wrapping import as_variable, wrap
from .elementwise import abs_, clip, eq, maximum, switch

_INDEXED = ("slice", "index", "take", "gather", "subtensor")


def _checked_part(x, what):
    if not isinstance(x, TensorVariable):
        raise TypeError(f"{what} must be called with a part of a variable, such as x[0:2], as first argument; not "
                        f"{x!r}")
    return x


def set_subtensor(x, y, inplace=False, tolerate_inplace_aliasing=False):
    """The variable v of which x is a part, such as v[1:3], with that part replaced by y; v itself does not change.
    TypeError for an x that is not a part of a variable."""
    return _updated(_croton.set_subtensor, x, y, "set_subtensor")


def inc_subtensor(x, y, inplace=False, set_instead_of_inc=False, tolerate_inplace_aliasing=False):
    """The variable v of which x is a part, such as v[1:3], with y added to that part; values for repeated positions
    accumulate."""
    if set_instead_of_inc:
        return set_subtensor(x, y)
    return _updated(_croton.inc_subtensor, x, y, "inc_subtensor")


def _updated(function, x, y, what):
    x, y = _checked_part(x, what), as_variable(y)
    if y.ndim > x.ndim:
        raise TypeError(f"Trying to increment a {x.ndim}-dimensional subtensor with a {y.ndim}-dimensional value.")
    return wrap(function(x._croton, y._croton))


def take(a, indices, axis=None, mode="raise"):
    """The elements at integer positions along one axis (None: of the flattened variable)."""
    return wrap(_croton.take(as_variable(a)._croton, as_variable(indices)._croton, axis, mode))


def take_rows(a, choices, mode):
    """choose with the choices along the first axis of one variable; its other axes broadcast with a."""
    a, choices = as_variable(a), as_variable(choices)
    ndim = max(a.ndim, choices.ndim - 1)
    a = wrap(_croton.shape_padleft(a._croton, ndim - a.ndim))
    missing = ndim - (choices.ndim - 1)
    choices = wrap(_croton.dimshuffle(choices._croton, [0, *["x"] * missing, *range(1, choices.ndim)]))
    index = a % choices.shape[0] if mode == "wrap" else clip(a, 0, choices.shape[0] - 1) if mode == "clip" else a
    index = index + wrap(_croton.zeros_like(choices[0]._croton)).astype(index.dtype)
    choices = choices + wrap(_croton.zeros_like(a._croton)).astype(choices.dtype)
    return wrap(_croton.take_along_axis(choices._croton, _croton.shape_padleft(index._croton, 1), 0))[0]


def get_canonical_form_slice(theslice, length):
    """(slice(start, stop, step), direction) with 0 <= start <= stop and step > 0, so that x[theslice] is
    x[slice][::direction] for an axis of this length. For an index: (the non-negative index, 1)."""
    if not isinstance(theslice, slice):
        index = as_variable(theslice)
        return switch(index < 0, index + length, index), 1
    step = as_variable(1 if theslice.step is None else theslice.step)
    up = step > 0

    def bound(value, forward_default, backward_default):
        """A non-negative bound (or -1, for backward slices that end before the first element)."""
        if value is None:
            return switch(up, forward_default, backward_default)
        value = as_variable(value)
        value = switch(value < 0, value + length, value)
        return switch(up, clip(value, 0, length), clip(value, -1, length - 1))

    first, end = bound(theslice.start, 0, length - 1), bound(theslice.stop, length, -1)
    size = abs_(step)
    count = maximum(switch(up, end - first, first - end) + size - 1, 0) // size
    start = switch(up, first, first + (count - 1) * step)
    stop = switch(up, maximum(end, first), first + 1)
    empty = eq(count, 0)
    return slice(switch(empty, 0, start), switch(empty, 0, stop), size), switch(up, 1, -1)


def advanced_subtensor(x, *index):
    """x[index]."""
    return as_variable(x)[index]


def advanced_subtensor1(x, index):
    """The rows of x at the positions of a vector."""
    return as_variable(x)[as_variable(index)]


def advanced_inc_subtensor(x, y, *index):
    """inc_subtensor of x[index]."""
    return inc_subtensor(as_variable(x)[index], y)


advanced_inc_subtensor1 = advanced_inc_subtensor


def advanced_set_subtensor(x, y, *index):
    """set_subtensor of x[index]."""
    return set_subtensor(as_variable(x)[index], y)


advanced_set_subtensor1 = advanced_set_subtensor

__all__ = ["set_subtensor", "inc_subtensor", "take", "advanced_subtensor", "advanced_subtensor1",
           "advanced_inc_subtensor", "advanced_inc_subtensor1", "advanced_set_subtensor", "advanced_set_subtensor1"]
