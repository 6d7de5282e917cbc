"""theano.scalar for programs that write scalar expressions: scalars are arrays without dimensions."""

import numpy

from . import types
from .tensor import arrays, elementwise
from .tensor.inputs import PREFIXES
from .variables import TensorConstant, TensorVariable
from .wrapping import autocast_float, autocast_float_as

class Scalar(types.TensorType):
    """The type of arrays without dimensions, by its dtype."""

    def __init__(self, dtype):
        super().__init__(dtype, ())

    def __str__(self):
        return self.dtype


_TYPES = {name: Scalar(name) for name in sorted(types._DTYPES)}
_OF = {"int": ("int8", "int16", "int32", "int64"), "uint": ("uint8", "uint16", "uint32", "uint64"),
       "float": ("float16", "float32", "float64"), "complex": ("complex64", "complex128")}
_OF["discrete"], _OF["continuous"] = ("bool", *_OF["int"], *_OF["uint"]), (*_OF["float"], *_OF["complex"])
_OF["all"] = _OF["discrete"] + _OF["continuous"]


class IntegerDivisionError(Exception):
    """A division of two integers whose meaning is not said."""


def get_scalar_type(dtype):
    """The type of scalars of a dtype."""
    return Scalar(dtype)


def upcast(*dtypes):
    """The dtype that holds all of these."""
    total = arrays.zeros((), dtypes[0])
    for dtype in dtypes[1:]:
        total = total + arrays.zeros((), dtype)
    return total.dtype


def round_half_away_from_zero_vec(a):
    """Of an array of NumPy: the nearest whole numbers, halves away from zero."""
    return numpy.copysign(numpy.floor(abs(a) + 0.5), a)


def _maker(dtype):
    def make(name=None):
        return _TYPES[dtype](name)

    make.__doc__ = f"A scalar of dtype {dtype}."
    return make


def names():
    """The names of the module."""
    functions = {name: getattr(elementwise, name) for name in elementwise.__all__ if name not in ("round", "where")}
    own = (IntegerDivisionError, get_scalar_type, upcast, round_half_away_from_zero_vec, autocast_float_as)
    kinds = {kind + "_types": tuple(_TYPES[name] for name in dtypes) for kind, dtypes in _OF.items()}
    inputs = {prefix + "s": _maker(dtype) for prefix, dtype in PREFIXES.items()}
    return {**functions, **_TYPES, **kinds, **inputs, **{thing.__name__: thing for thing in own},
            "Scalar": Scalar, "constant": arrays.constant, "as_scalar": arrays.as_tensor_variable, "identity":
            arrays.tensor_copy, "autocast_float": autocast_float, "discrete_dtypes": _OF["discrete"], "continuous_dtypes":
            _OF["continuous"], "ScalarVariable": TensorVariable,
            "ScalarConstant": TensorConstant}
