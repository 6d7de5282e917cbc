"""Choices, and the positions of elements that are not 0."""

from croton import _croton

from ..wrapping import as_variable, wrap
from .constants import as_croton
from .creation import zeros_like
from .elementwise import cast
from .joining import stack
from .shapes import shape_padright
from .subtensor import take_rows


def choose(a, choices, out=None, mode="raise"):
    """The array whose element i is choices[a[i]][i]. choices: a list of variables, or one variable with another first
    axis."""
    if out is not None:
        raise NotImplementedError("choose: out= is not supported")
    if isinstance(choices, (list, tuple)):
        return wrap(_croton.choose(as_croton(a), [as_croton(x) for x in choices], mode))
    return take_rows(a, choices, mode)


def nonzero(a, return_matrix=False):
    """The indices of the elements that are not 0: a tuple of vectors, one for each axis, or a matrix with a row for
    each axis."""
    a = as_variable(a)
    if a.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    if return_matrix:
        return stack(wrap(list(_croton.nonzero(a._croton))))
    return tuple(wrap(list(_croton.nonzero(a._croton))))


def flatnonzero(a):
    """The positions, in the flattened a, of the elements that are not 0."""
    a = as_variable(a)
    if a.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return wrap(_croton.flatnonzero(a._croton))


def nonzero_values(a):
    """The elements that are not 0, in C order."""
    if as_variable(a).ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return wrap(_croton.nonzero_values(as_croton(a)))


def inverse_permutation(perm):
    """The permutation q with q[perm[i]] = i, of each row; its dtype is that of perm."""
    perm = as_variable(perm)
    inverse = _croton.inverse_permutation(perm._croton) if perm.ndim == 1 else _croton.argsort(perm._croton, -1)
    return cast(wrap(inverse), perm.dtype)


def permute_row_elements(x, y, inverse=0):
    """x with the elements of each row permuted by the row of y, or with inverse by its inverse permutation."""
    x, y = as_variable(x), as_variable(y)
    if inverse:
        y = wrap(_croton.argsort(y._croton, -1)) if y.ndim > 1 else inverse_permutation(y)
    ndim = max(x.ndim, y.ndim)
    x, y = as_variable(x, ndim=ndim), as_variable(y, ndim=ndim)
    if all(a == b for a, b in zip(x.broadcastable[:-1], y.broadcastable[:-1])):
        return wrap(_croton.take_along_axis(x._croton, y._croton, -1))
    zero_x, zero_y = (shape_padright(zeros_like(z, "int64")[..., 0]) for z in (x, y))
    return wrap(_croton.take_along_axis((x + cast(zero_y, x.dtype))._croton, (y + cast(zero_x, y.dtype))._croton, -1))


__all__ = ["choose", "nonzero", "flatnonzero", "nonzero_values", "inverse_permutation", "permute_row_elements"]
