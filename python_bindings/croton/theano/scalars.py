"""theano.scalar, for programs with scalar expressions: scalars are arrays without dimensions."""

import numpy

from . import types
from .tensor import arrays, elementwise
from .tensor.inputs import PREFIXES
from .variables import TensorConstant, TensorVariable
from .wrapping import autocast_float, autocast_float_as


class Scalar(types.TensorType):
    """The type of arrays of a dtype without dimensions."""

    def __init__(self, dtype):
        super().__init__(dtype, ())

    def __str__(self):
        return self.dtype


_TYPES = {name: Scalar(name) for name in sorted(types._DTYPES)}
_DTYPES_OF_KIND = {"int": ("int8", "int16", "int32", "int64"), "uint": ("uint8", "uint16", "uint32", "uint64"),
       "float": ("float16", "float32", "float64"), "complex": ("complex64", "complex128")}
_DTYPES_OF_KIND["discrete"] = ("bool", *_DTYPES_OF_KIND["int"], *_DTYPES_OF_KIND["uint"])
_DTYPES_OF_KIND["continuous"] = (*_DTYPES_OF_KIND["float"], *_DTYPES_OF_KIND["complex"])
_DTYPES_OF_KIND["all"] = _DTYPES_OF_KIND["discrete"] + _DTYPES_OF_KIND["continuous"]


class IntegerDivisionError(Exception):
    """A division of two integers that is ambiguous."""


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
    """A NumPy array rounded to whole numbers, halves away from zero."""
    return numpy.copysign(numpy.floor(abs(a) + 0.5), a)


def _maker(dtype):
    def make(name=None):
        return _TYPES[dtype](name)

    make.__doc__ = f"A scalar of dtype {dtype}."
    return make


def names():
    """The names in theano.scalar: {name: value}."""
    functions = {name: getattr(elementwise, name) for name in elementwise.__all__ if name not in ("round", "where")}
    own = (IntegerDivisionError, get_scalar_type, upcast, round_half_away_from_zero_vec, autocast_float_as)
    kinds = {kind + "_types": tuple(_TYPES[name] for name in dtypes) for kind, dtypes in _DTYPES_OF_KIND.items()}
    inputs = {prefix + "s": _maker(dtype) for prefix, dtype in PREFIXES.items()}
    return {**functions, **_TYPES, **kinds, **inputs, **{thing.__name__: thing for thing in own},
            "Scalar": Scalar, "constant": arrays.constant, "as_scalar": arrays.as_tensor_variable,
            "identity": arrays.tensor_copy, "autocast_float": autocast_float,
            "discrete_dtypes": _DTYPES_OF_KIND["discrete"], "continuous_dtypes": _DTYPES_OF_KIND["continuous"],
            "ScalarVariable": TensorVariable, "ScalarConstant": TensorConstant}
