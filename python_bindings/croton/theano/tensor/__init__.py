"""theano.tensor: symbolic arrays and functions on them."""

import numpy as np  # noqa: F401  programs import it from here

from .. import gradients as _gradients
from ..graph import Variable  # noqa: F401
from ..sharing import TensorSharedVariable, shared as _shared  # noqa: F401
from ..types import DisconnectedType, NoneConst, TensorType  # noqa: F401
from ..variables import TensorConstant, TensorVariable  # noqa: F401
from ..wrapping import AsTensorError  # noqa: F401
from . import arrays, elementwise, extra_ops, methods, nnet, signal, sort, subtensor  # noqa: F401
from .arrays import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .extra_ops import *  # noqa: F403
from .op_classes import *  # noqa: F403
from .sort import argsort, argtopk, sort, topk, topk_and_argtopk  # noqa: F401
from .subtensor import *  # noqa: F403
from . import fft, nlinalg, slinalg, testing  # noqa: F401
from .nlinalg import *  # noqa: F403
from .testing import numeric_grad, verify_grad  # noqa: F401

grad = _gradients.grad
jacobian = _gradients.jacobian
hessian = _gradients.hessian
Lop, Rop = _gradients.Lop, _gradients.Rop
grad_not_implemented, grad_undefined = _gradients.grad_not_implemented, _gradients.grad_undefined
consider_constant = _gradients.consider_constant
Tensor = TensorType

all_dtypes = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128")
int_dtypes = ("int8", "int16", "int32", "int64")
uint_dtypes = ("uint8", "uint16", "uint32", "uint64")
integer_dtypes = int_dtypes + uint_dtypes
discrete_dtypes = ("bool",) + integer_dtypes
float_dtypes = ("float16", "float32", "float64")
complex_dtypes = ("complex64", "complex128")
continuous_dtypes = float_dtypes + complex_dtypes


class _tensor_py_operators:
    """Base of classes with the operators of arrays, for isinstance."""


def _casts():
    for dtype in all_dtypes:
        def cast_to(x, dtype=dtype):
            return cast(x, dtype)  # noqa: F405

        cast_to.__name__ = f"_convert_to_{dtype}"
        globals()[cast_to.__name__] = cast_to
        setattr(arrays, cast_to.__name__, cast_to)


_casts()
