"""Constants, and values that are known when an expression is built."""

import numpy

from croton import _croton

from .. import types
from ..configuration import config
from ..graph import Variable, inputs
from ..variables import TensorConstant, TensorVariable
from ..wrapping import as_variable, holds_variable, vector_elements, wrap

TensorType = types.TensorType


class NotScalarConstantError(Exception):
    """A variable that is not a scalar constant."""


class EmptyConstantError(NotScalarConstantError):
    """A constant without elements."""


def as_tensor_variable(x, name=None, ndim=None):
    if isinstance(x, bool):
        raise TypeError("Cannot cast True or False as a tensor variable. Please use 1 or 0, or numpy.asarray(True), or "
                        "theano.tensor.eq and its like")
    return as_variable(x, name, ndim)


as_tensor_variable.__doc__ = as_variable.__doc__
as_tensor = as_tensor_variable


def as_croton(x):
    """Croton's variable of as_variable(x)."""
    return as_variable(x)._croton


def constant(x, name=None, ndim=None, dtype=None):
    """A constant of a number, array or list. A Python integer gets the smallest integer dtype that holds it, a float
    float32 if that is exact, else floatX; NumPy's numbers keep their dtype. TypeError for variables."""
    if isinstance(x, Variable):
        raise TypeError(f"constant takes a value, not the variable {x}")
    if holds_variable(x):
        raise TypeError("constant takes values, not a list with variables")
    if dtype is not None:
        x = numpy.asarray(x, dtype=config.floatX if dtype == "floatX" else dtype)
    result = as_variable(x)
    if ndim is not None and result.ndim != ndim:
        if result.ndim > ndim:
            raise ValueError("ndarray could not be cast to constant with %i dimensions" % ndim)
        result = wrap(_croton.constant(numpy.asarray(result.data).reshape((1,) * (ndim - result.ndim) +
                                                                          result.data.shape)))
    if name is not None:
        result = wrap(_croton.constant(result.data.copy(), name))
    return result


def get_scalar_constant_value(v, elemwise=True, only_process_constants=False, max_recur=10):
    """The value of a scalar constant, or of an expression of constants. NotScalarConstantError for others."""
    if isinstance(v, (int, float, complex, numpy.generic)):
        return numpy.asarray(v)
    if isinstance(v, numpy.ndarray):
        if v.size == 0:
            raise EmptyConstantError()
        if v.ndim == 0 or v.size == 1:
            return v.reshape(())
        raise NotScalarConstantError()
    if isinstance(v, TensorConstant):
        if v.data.size == 0:
            raise EmptyConstantError()
        if v.data.ndim == 0 or (v.data == v.data.reshape(-1)[0]).all():
            return numpy.array(v.data.reshape(-1)[0])
        raise NotScalarConstantError()
    if isinstance(v, TensorVariable) and not only_process_constants:
        if v.owner is not None and getattr(v.owner.op, "croton_name", None) == "alloc":
            return get_scalar_constant_value(v.owner.inputs[0])
    if isinstance(v, TensorVariable) and not only_process_constants and v.ndim == 0:
        if all(isinstance(x, TensorConstant) for x in inputs([v])):
            try:
                return numpy.asarray(v._croton.eval())
            except AssertionError:  # an Assert in the expression fails
                raise NotScalarConstantError(v) from None
    raise NotScalarConstantError(v)


def get_vector_length(v):
    """The number of elements of a vector if it is known, else ValueError."""
    v = as_variable(v)
    if v.ndim != 1:
        raise TypeError(f"argument must be symbolic vector, got '{v}'")
    elements = vector_elements(v._croton)
    if elements is not None:
        return len(elements)
    if v.broadcastable[0]:
        return 1
    raise ValueError(f"length not known: {v}")


def tensor_copy(x, name=None):
    """x, or a copy of it with a name."""
    x = as_variable(x)
    if name is None:
        return x
    result = x + numpy.zeros((), x.dtype) if x.dtype != "bool" else x | numpy.False_
    result.name = name
    return result


copy = tensor_copy


def default(x, y):
    """x, or y if x is None."""
    return y if x is None else x


def extract_constant(x, elemwise=True, only_process_constants=False):
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


__all__ = ["TensorType", "NotScalarConstantError", "EmptyConstantError", "as_tensor_variable", "as_tensor", "constant",
           "get_scalar_constant_value", "get_vector_length", "tensor_copy", "copy", "default", "extract_constant"]
