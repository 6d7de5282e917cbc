"""theano.scalar for programs that write scalar expressions: scalars are arrays without dimensions."""

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

    return {**kinds, **functions, "Scalar": get_scalar_type, "get_scalar_type": get_scalar_type, "upcast": upcast,
            "constant": arrays.constant, "as_scalar": arrays.as_tensor_variable, "identity": arrays.tensor_copy,
            "second": elementwise.fill, "minimum": elementwise.minimum, "maximum": elementwise.maximum}
