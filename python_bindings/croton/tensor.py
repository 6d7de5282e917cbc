"""Symbolic variables and operations on them, with Theano's names: `import croton.tensor as T`."""

import operator as _operator

from . import _croton, nnet
from ._croton import Variable, constant

# All functions that make or transform variables have the same names in Python and in C++.
_NOT_OPERATIONS = {"application", "apply_again", "as_shared", "constant_value", "debugprint", "equal_computations",
                   "flag", "flags", "from_dlpack", "function", "ifelse", "io", "is_shared", "line_of", "nearest",
                   "nnet", "set_flag"}
_OPERATIONS = [name for name in dir(_croton) if name[0].islower() and name not in _NOT_OPERATIONS] + ["Lop", "Rop"]
globals().update({name: getattr(_croton, name) for name in _OPERATIONS})


def _of_variables(function, doc):
    def apply(a, b):
        return function(as_tensor_variable(a), b)

    apply.__doc__ = doc
    apply.__name__ = function.__name__
    return apply


def as_tensor_variable(x, name=None):
    """x if it is a variable, else a constant of the number or array."""
    return x if isinstance(x, Variable) else constant(x, name)


add = _of_variables(_operator.add, "a + b.")
sub = _of_variables(_operator.sub, "a - b.")
mul = _of_variables(_operator.mul, "a * b, elementwise.")
true_div = _of_variables(_operator.truediv, "a / b; two integers give floatX.")
mod = _of_variables(_operator.mod, "The remainder with the sign of the divisor.")
lt = _of_variables(_operator.lt, "a < b, elementwise.")
le = _of_variables(_operator.le, "a <= b, elementwise.")
gt = _of_variables(_operator.gt, "a > b, elementwise.")
ge = _of_variables(_operator.ge, "a >= b, elementwise.")
and_ = _of_variables(_operator.and_, "The bitwise and of integers, the logical and of bool.")
or_ = _of_variables(_operator.or_, "The bitwise or of integers, the logical or of bool.")
xor = _of_variables(_operator.xor, "The bitwise exclusive or of integers, the logical one of bool.")
switch = _croton.where
floor_div = _croton.floor_divide
abs_ = _croton.abs
inv = _croton.reciprocal


def neg(x):
    """-x."""
    return -as_tensor_variable(x)


def invert(x):
    """The bitwise not of integers, the logical not of bool."""
    return ~as_tensor_variable(x)


_MAX_INPUTS = 2**16  # larger numbers are mistakes, which would fill the memory


def _several(make):
    def several(*names, dtype=None):
        """Several inputs: with these names, or a number of inputs without names."""
        if len(names) == 1 and isinstance(names[0], int):
            if not 0 <= names[0] <= _MAX_INPUTS:
                raise _croton.ValueError(f"{names[0]} inputs; the number is from 0 to {_MAX_INPUTS}")
            names = [None] * names[0]
        return [make(name, dtype) for name in names]

    return several


scalars = _several(_croton.scalar)
vectors = _several(_croton.vector)
matrices = _several(_croton.matrix)


class _Grid:
    """Grids of coordinates: mgrid[0:3, 0:n] has one array for each range, whose numbers are along one axis; all arrays
    have one shape (ogrid: size 1 along the other axes)."""

    def __init__(self, whole):
        self._whole = whole

    def __getitem__(self, ranges):
        ranges = ranges if isinstance(ranges, tuple) else (ranges,)
        vectors = [_croton.arange(0 if r.start is None else r.start, r.stop, 1 if r.step is None else r.step)
                   for r in ranges]
        if self._whole:
            return _croton.meshgrid(*vectors, indexing="ij")
        rank = len(vectors)
        return [_croton.shape_padleft(_croton.shape_padright(v, rank - 1 - i), i) for i, v in enumerate(vectors)]


mgrid = _Grid(True)
ogrid = _Grid(False)


def _add_methods():
    """Adds methods such as x.sum(), which call the function of the same name with x as first argument."""
    names = """all any argmax argmin argsort choose clip cumprod cumsum diagonal diff dimshuffle dot flatten max
               mean min nonzero prod repeat round sort squeeze sum swapaxes take trace transpose var"""
    for name in names.split():
        setattr(Variable, name, _method(getattr(_croton, name)))
    Variable.reshape = lambda self, *shape: _croton.reshape(self, shape[0] if len(shape) == 1 else shape)
    Variable.reshape.__doc__ = _croton.reshape.__doc__


def _method(function):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__doc__ = function.__doc__
    method.__name__ = function.__name__
    return method


_add_methods()
