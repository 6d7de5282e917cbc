"""Cumulative sums, counts, one-hot rows and other functions of arrays."""

from croton import _croton

from ..graph import Variable
from ..wrapping import as_sizes, as_variable, unwrap, wrap
from . import arrays
from .arrays import repeat  # noqa: F401
from .elementwise import cast, maximum, switch
from .inputs import dtype_or_floatX


def cumsum(x, axis=None):
    """The cumulative sums along an axis (None: of the flattened variable), in the dtype of x."""
    return _cumulative(_croton.cumsum, x, axis)


def cumprod(x, axis=None):
    """The cumulative products along an axis (None: of the flattened variable), in the dtype of x."""
    return _cumulative(_croton.cumprod, x, axis)


def _cumulative(function, x, axis):
    x = as_variable(x)
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis(={axis}) out of bounds")
    return wrap(function(x._croton, axis))


class CumOp:
    """cumsum or cumprod as an op."""

    def __init__(self, axis=None, mode="add"):
        if mode not in ("add", "mul"):
            raise ValueError(f'{type(self).__name__}: Unknown mode "{mode}"')
        self.axis, self.mode = axis, mode

    def __call__(self, x):
        return (cumsum if self.mode == "add" else cumprod)(x, self.axis)


class CumsumOp(CumOp):
    def __init__(self, axis=None):
        super().__init__(axis, "add")


class CumprodOp(CumOp):
    def __init__(self, axis=None):
        super().__init__(axis, "mul")


def diff(x, n=1, axis=-1):
    """The n-th differences of neighbours along an axis."""
    x = as_variable(x)
    return wrap(_croton.diff(x._croton, n, axis))


def bincount(x, weights=None, minlength=None, assert_nonneg=False):
    """The counts of 0, 1, 2, ... in x, or the sums of their weights."""
    x = as_variable(x)
    if x.ndim != 1:
        raise TypeError("Inputs must be 1-d arrays: bincount")
    if x.dtype.startswith("float"):
        raise TypeError("bincount counts whole numbers")
    if isinstance(minlength, Variable):
        counts = wrap(_croton.bincount(x._croton, None if weights is None else as_variable(weights)._croton, 0))
        missing = wrap(_croton.maximum(unwrap(minlength) - counts._croton.shape[0], 0))
        return arrays.concatenate([counts, arrays.zeros((missing,), counts.dtype)])
    return wrap(_croton.bincount(x._croton, None if weights is None else as_variable(weights)._croton, minlength or 0))


def compress(condition, x, axis=None):
    """The slices of x along an axis where the condition, a vector, is not 0."""
    return wrap(_croton.compress(as_variable(condition)._croton, as_variable(x)._croton, axis))


def searchsorted(x, v, side="left", sorter=None):
    """The insertion positions of the elements of v in the sorted vector x."""
    v, x = as_variable(v), as_variable(x)
    if x.ndim != 1:
        raise ValueError("searchsorted: x must be a vector")
    return wrap(_croton.searchsorted(x._croton, v._croton, side,
                                     None if sorter is None else as_variable(sorter)._croton))


def to_one_hot(y, nb_class, dtype=None):
    """The one-hot rows of an integer vector y: each has a 1 at the position of its element; floatX by default."""
    y = as_variable(y)
    return wrap(_croton.one_hot(y._croton, unwrap(nb_class), dtype_or_floatX(dtype)))


def fill_diagonal(a, val):
    """a with its diagonal set to a scalar. TypeError for a value that is not a scalar, or whose dtype would be
    narrowed."""
    a, val = as_variable(a), as_variable(val)
    if a.ndim < 2:
        raise TypeError(f"fill_diagonal: first parameter must have at least two dimensions, not {a.ndim}")
    if val.ndim != 0:
        raise TypeError("fill_diagonal: second parameter must be a scalar")
    if (a + val).dtype != a.dtype:
        raise TypeError("fill_diagonal: type of second parameter must be the same as the first's")
    return wrap(_croton.fill_diagonal(a._croton, cast(val, a.dtype)._croton))


def fill_diagonal_offset(a, val, offset):
    """A matrix with the diagonal at the offset set to a scalar; see fill_diagonal."""
    a, val = as_variable(a), as_variable(val)
    if a.ndim != 2:
        raise TypeError(f"fill_diagonal_offset: first parameter must have exactly two dimensions, not {a.ndim}")
    if val.ndim != 0:
        raise TypeError("fill_diagonal_offset: second parameter must be a scalar")
    return wrap(_croton.fill_diagonal_offset(a._croton, cast(val, a.dtype)._croton, unwrap(offset)))


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The positions of multi-indices in an array of shape dims, in C (or Fortran) order."""
    parts = [as_variable(x)._croton for x in multi_index]
    sizes = as_sizes(dims)
    if order not in ("C", "F"):
        raise ValueError("order must be C or F")
    if order == "F":
        parts, sizes = parts[::-1], sizes[::-1]
    return wrap(_croton.ravel_multi_index(parts, sizes, mode))


def unravel_index(indices, dims, order="C", ndim=None):
    """The multi-indices of positions in an array of shape dims, in C (or Fortran) order."""
    sizes = as_sizes(dims, ndim)
    if order not in ("C", "F"):
        raise ValueError("order must be C or F")
    result = wrap(list(_croton.unravel_index(as_variable(indices)._croton, sizes[::-1] if order == "F" else sizes)))
    return tuple(result[::-1] if order == "F" else result)


class Unique:
    """The distinct elements in ascending order; on request also their first positions, the positions that reconstruct
    the variable, and their counts."""

    def __init__(self, return_index=False, return_inverse=False, return_counts=False, axis=None):
        self._options = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
        self.axis = axis
        self.return_index, self.return_inverse, self.return_counts = return_index, return_inverse, return_counts

    def __call__(self, x, return_list=False):
        x = as_variable(x)
        if self.axis is not None and not -x.ndim <= self.axis < x.ndim:
            raise RuntimeError(f"Unique axis `{self.axis}` is outside of input ndim = {x.ndim}.")
        result = _croton.unique(x._croton, axis=self.axis, **self._options)
        if isinstance(result, (list, tuple)):
            return wrap(list(result))
        return [wrap(result)] if return_list else wrap(result)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The distinct elements in ascending order; see Unique."""
    return Unique(return_index, return_inverse, return_counts, axis)(ar)


class RepeatOp:
    """repeat as an op: RepeatOp(axis)(x, repeats)."""

    def __init__(self, axis=None):
        self.axis = axis

    def __call__(self, x, repeats):
        return repeat(x, repeats, self.axis)


class DiffOp:
    """diff as an op: DiffOp(n, axis)(x)."""

    def __init__(self, n=1, axis=-1):
        self.n, self.axis = n, axis

    def __call__(self, x):
        return diff(x, self.n, self.axis)


class SearchsortedOp:
    """searchsorted as an op: SearchsortedOp(side)(x, v, sorter)."""

    def __init__(self, side="left"):
        if side not in ("left", "right"):
            raise ValueError(f"'{side}' is an invalid value for keyword 'side'")
        self.side = side

    def __call__(self, x, v, sorter=None):
        return searchsorted(x, v, self.side, sorter)


def bartlett(M):
    """The Bartlett window of M points: a triangle from 0 to 1 to 0."""
    M = as_variable(M)
    if M.ndim != 0:
        raise TypeError("bartlett only works on scalar input")
    if not M.dtype.startswith(("int", "uint")):
        raise TypeError("bartlett only works on integer input")
    n = arrays.arange(M).astype("float64")
    last = maximum(M - 1, 1)
    return switch(M > 1, 1 - abs(2 * n / last - 1), 1.0)


def squeeze(x, axis=None):
    return arrays.squeeze(x, axis)


squeeze.__doc__ = arrays.squeeze.__doc__

__all__ = ["cumsum", "cumprod", "CumOp", "CumsumOp", "CumprodOp", "diff", "bincount", "compress", "searchsorted",
           "to_one_hot", "fill_diagonal", "fill_diagonal_offset", "ravel_multi_index", "unravel_index", "Unique",
           "unique", "squeeze", "repeat", "RepeatOp", "DiffOp", "SearchsortedOp", "bartlett"]
