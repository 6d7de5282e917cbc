"""Constant arrays, identity and triangular matrices, ranges and grids."""

import numpy

from croton import _croton

from ..configuration import config
from ..graph import Variable
from ..wrapping import as_sizes, as_variable, wrap
from .constants import as_croton
from .elementwise import cast
from .inputs import dtype_or_floatX
from .joining import promoted_dtype


def alloc(value, *shape):
    """An array of the shape, filled with the value, of the value's dtype."""
    value = as_variable(value)
    sizes = as_sizes(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    if value.ndim > len(sizes):
        raise TypeError(f"The Alloc value to use has more dimensions than the specified dimensions: {value.ndim}, "
                        f"{len(sizes)}")
    return wrap(_croton.alloc(value._croton, *sizes))


def zeros(shape, dtype=None):
    """An array of the shape, filled with zeros; floatX by default."""
    return wrap(_croton.zeros(as_sizes(shape), dtype_or_floatX(dtype)))


def ones(shape, dtype=None):
    """An array of the shape, filled with ones; floatX by default."""
    return wrap(_croton.ones(as_sizes(shape), dtype_or_floatX(dtype)))


def zeros_like(model, dtype=None, opt=False):
    """An array of the model's shape, filled with zeros; its dtype is the model's by default."""
    x = as_variable(model)
    zero = wrap(_croton.zeros_like(x._croton))
    return zero if dtype is None else cast(zero, dtype)


def ones_like(model, dtype=None, opt=False):
    """An array of the model's shape, filled with ones; its dtype is the model's by default."""
    x = as_variable(model)
    one = wrap(_croton.ones_like(x._croton))
    return one if dtype is None else cast(one, dtype)


def identity_like(x):
    """The identity matrix of the shape of x."""
    x = as_variable(x)
    return eye(x.shape[0], x.shape[1], k=0, dtype=x.dtype)


def eye(n, m=None, k=0, dtype=None):
    """A matrix of n rows and m columns (None: n) with ones on the k-th diagonal."""
    return wrap(_croton.eye(_size(n), None if m is None else _size(m), _size(k), dtype_or_floatX(dtype)))


def _size(n):
    return as_sizes(n)[0] if not isinstance(n, Variable) else as_variable(n)._croton


def tri(N, M=None, k=0, dtype=None):
    """A matrix of N rows and M columns (None: N) with ones at and below the k-th diagonal."""
    return wrap(_croton.tri(_size(N), None if M is None else _size(M), _size(k), dtype_or_floatX(dtype)))


def tril(m, k=0):
    """The matrix with zeros above the k-th diagonal."""
    return wrap(_croton.tril(as_croton(m), k))


def triu(m, k=0):
    """The matrix with zeros below the k-th diagonal."""
    return wrap(_croton.triu(as_croton(m), k))


def arange(start, stop=None, step=1, dtype=None):
    """The numbers start, start + step, ... below stop; integers give int64. dtype: that of the result."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = as_variable(start), as_variable(stop), as_variable(step)
    if dtype is None:
        result = numpy.result_type(*[numpy.dtype(x.dtype) for x in (start, stop, step)])
        floats = [x.dtype for x in (start, stop, step) if x.dtype.startswith("float")]
        dtype = "int64" if result.kind in "iub" else promoted_dtype(start, stop, step)
        if config.cast_policy == "numpy+floatX" and floats:
            dtype = config.floatX
    dtype = str(dtype_or_floatX(dtype))
    kind = dtype if dtype.startswith("float") else "int64" if dtype[0] in "iu" else None
    values = wrap(_croton.arange(*[(x if kind is None else cast(x, kind))._croton for x in (start, stop, step)]))
    return cast(values, dtype)


def load(path, dtype, broadcastable, mmap_mode=None):
    raise NotImplementedError("tensor.load reads a file when a function runs, which Croton does not support; read it "
                              "by numpy.load and pass the array")


class _Grid:
    """mgrid[0:3, 0:n] and ogrid: the coordinates of grids."""

    def __init__(self, whole):
        self._whole = whole

    def __getitem__(self, ranges):
        several = isinstance(ranges, tuple)
        ranges = ranges if several else (ranges,)
        vectors = [arange(0 if r.start is None else r.start, r.stop, 1 if r.step is None else r.step) for r in ranges]
        n = len(vectors)
        if self._whole and n == 1:
            return vectors[0]
        open_ = [v.dimshuffle(*["x"] * i, 0, *["x"] * (n - 1 - i)) for i, v in enumerate(vectors)]
        if not self._whole:
            return open_ if several else open_[0]
        ones_all = 1
        for v in open_:
            ones_all = ones_all * ones_like(v)
        return [v * ones_all for v in open_]


mgrid = _Grid(True)
ogrid = _Grid(False)


__all__ = ["alloc", "zeros", "ones", "zeros_like", "ones_like", "identity_like", "eye", "tri", "tril", "triu",
           "arange", "load", "mgrid", "ogrid"]
