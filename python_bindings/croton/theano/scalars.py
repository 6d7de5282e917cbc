"""theano.scalar for programs that write scalar expressions: scalars are arrays without dimensions."""

import numpy

from . import types
from .tensor import arrays, elementwise


def names():
    """The names of the module."""
    kinds = {name: types.TensorType(name, ()) for name in sorted(types._DTYPES) if name != "bool"}
    functions = {name: getattr(elementwise, name) for name in elementwise.__all__ if name not in ("round", "where")}

    def get_scalar_type(dtype):
        return types.TensorType(dtype, ())

    def upcast(*dtypes):
        """The dtype that holds all of these."""
        total = arrays.zeros((), dtypes[0])
        for dtype in dtypes[1:]:
            total = total + arrays.zeros((), dtype)
        return total.dtype

    def round_half_away_from_zero_vec(a):
        """Of an array of NumPy: the nearest whole numbers, halves away from zero."""
        return numpy.copysign(numpy.floor(abs(a) + 0.5), a)

    return {**kinds, "round_half_away_from_zero_vec": round_half_away_from_zero_vec, **functions, "Scalar": get_scalar_type, "get_scalar_type": get_scalar_type, "upcast": upcast,
            "constant": arrays.constant, "as_scalar": arrays.as_tensor_variable, "identity": arrays.tensor_copy,
            "second": elementwise.fill, "minimum": elementwise.minimum, "maximum": elementwise.maximum}
