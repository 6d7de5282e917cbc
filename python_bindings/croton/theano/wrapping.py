"""Conversion between Theano's variables and Croton's: `wrap` returns Theano's variable of a Croton variable, one for
each node of the graph as long as it is referenced; `unwrap` is the inverse; `as_variable` makes variables of numbers,
arrays and lists."""

import contextlib
import weakref

import numpy

from croton import _croton

from . import test_values
from .configuration import config
from .graph import Apply, Variable

_wrapped = weakref.WeakValueDictionary()  # Croton's variable -> Theano's
_classes = {}


def wrapper_of(kind):
    """Decorator of the class that wraps Croton's variables of a kind: "shared", "constant" or "other"."""
    def marked(cls):
        _classes[kind] = cls
        return cls

    return marked


class AsTensorError(TypeError):
    """An object that cannot be converted to a tensor variable."""


def wrap(x, operands=None):
    """Theano's variables of Croton's: of one, or of those in lists and tuples; other objects are returned unchanged.

    A new variable keeps references to the variables that it is computed from (or to `operands`, which have them): so
    the objects of a graph, with their tags and owners, live as long as its outputs.
    """
    if isinstance(x, _croton.Variable):
        known = _wrapped.get(x)
        if known is None:
            if isinstance(x, _croton.SharedVariable) or _croton.is_shared(x):
                known = _classes["shared"]._of(x)
            else:
                known = _classes["constant" if x.is_constant else "other"](x)
            known._operands = _croton.nearest([x], _wrapped.get) if operands is None else operands
            _wrapped[x] = known
            test_values.derive(known)
        return known
    if isinstance(x, (list, tuple)):
        if operands is None:  # one walk for all, since gradients have much of their graphs in common
            operands = _croton.nearest([y for y in x if isinstance(y, _croton.Variable)], _wrapped.get)
        return type(x)(wrap(item, operands) for item in x)
    return x


def register(variable):
    """Makes a variable the wrapper of its node."""
    _wrapped[variable._croton] = variable
    return variable


def unwrap(x):
    """Croton's variables of Theano's, also in lists, tuples and dicts."""
    if isinstance(x, Variable):
        if x._croton is None:
            raise AsTensorError(f"Variable type field must be a TensorType: {x} is of type {x.type}")
        return x._croton
    if isinstance(x, list):
        return [unwrap(item) for item in x]
    if isinstance(x, tuple):
        return tuple(unwrap(item) for item in x)
    if isinstance(x, dict):
        return {unwrap(key): unwrap(value) for key, value in x.items()}
    if hasattr(x, "_as_TensorVariable"):
        return unwrap(x._as_TensorVariable())
    return x


def _is_tensor(x):
    return isinstance(x, Variable) and x._croton is not None


def unwrap_index(key):
    return tuple(_unwrap_part(part) for part in key) if isinstance(key, tuple) else _unwrap_part(key)


def _unwrap_part(part):
    if isinstance(part, slice):
        return slice(unwrap(part.start), unwrap(part.stop), unwrap(part.step))
    if isinstance(part, (list, tuple)) and not part:
        return numpy.zeros(0, "int64")
    if isinstance(part, (list, tuple)) and any(isinstance(item, Variable) for item in part):
        return as_variable(part)._croton
    return unwrap(part)


def holds_variable(x):
    """Whether x is a variable, or a list that contains one at any depth."""
    return isinstance(x, Variable) or (isinstance(x, (list, tuple)) and any(holds_variable(item) for item in x))


class _AutocastFloat:
    """The conversion of Python floats to constants: to the first of `dtypes` that holds a float exactly, else to the
    last."""

    dtypes = DEFAULT = ("float16", "float32", "float64")

    def __call__(self, x):
        for dtype in self.dtypes:
            if (numpy.asarray(x, dtype) == x).all():
                break
        return numpy.asarray(x, dtype)


autocast_float = _AutocastFloat()


@contextlib.contextmanager
def autocast_float_as(*dtypes):
    """A scope in which constants of Python floats have one of these dtypes."""
    old, autocast_float.dtypes = autocast_float.dtypes, dtypes
    try:
        yield
    finally:
        autocast_float.dtypes = old


def as_variable(x, name=None, ndim=None):
    """x as a variable: x itself, a constant of a number or array, or the stack of a list that contains variables.

    A Python integer gets the smallest integer dtype that holds it, a float float32 if that is exact, else floatX;
    NumPy's numbers keep their dtype. ndim: the number of dimensions of the result; axes of size 1 are added or removed
    as the first ones. AsTensorError for other objects.
    """
    if isinstance(x, Apply):
        x = x.default_output()
    if isinstance(x, (list, tuple)) and holds_variable(x):
        x = vector_of([as_variable(item)._croton for item in x])
    if not isinstance(x, Variable):
        if hasattr(x, "_as_TensorVariable"):
            return as_variable(x._as_TensorVariable(), name, ndim)
        if isinstance(x, (str, bytes)) or x is None or callable(x) or isinstance(x, dict):
            raise AsTensorError(f"Cannot convert {x!r} to TensorType", type(x))
        if isinstance(x, (list, tuple)) and not x:
            x = numpy.zeros(0, config.floatX)
        if isinstance(x, numpy.float64):  # a subclass of float with its own dtype
            x = numpy.asarray(x)
        if type(x) is float and autocast_float.dtypes is not autocast_float.DEFAULT:
            x = autocast_float(x)
        try:
            x = wrap(_croton.constant(x, name))
        except (TypeError, ValueError) as error:
            raise AsTensorError(f"Cannot convert {x!r} to TensorType: {error}", type(x)) from error
    elif x._croton is None:
        raise AsTensorError(f"Variable type field must be a TensorType: {x} is of type {x.type}", x, x.type)
    if ndim is not None and x.ndim != ndim:
        x = _of_rank(x, ndim)
    return x


def _of_rank(x, ndim):
    if x.ndim < ndim:
        return wrap(_croton.shape_padleft(x._croton, ndim - x.ndim))
    extra = x.ndim - ndim
    if not all(x.broadcastable[:extra]):
        raise ValueError(f"TensorType could not be cast to have {ndim} dimensions", x.type)
    return wrap(_croton.dimshuffle(x._croton, list(range(extra, x.ndim))))


# Vectors of known elements, such as shapes: indexing and iteration return the elements themselves. The keys are their
# variables.
_elements = weakref.WeakKeyDictionary()


def vector_of(elements):
    """The vector of these scalar Croton variables; for arrays, their stack along a new first axis."""
    if not elements:
        return wrap(_croton.constant(numpy.zeros(0, "int64")))
    if all(x.is_constant for x in elements) and all(x.ndim == 0 for x in elements):
        values = [_croton.constant_value(x) for x in elements]
        whole = wrap(_croton.constant(numpy.array(values)))
    else:
        whole = wrap(_croton.stack(list(elements)))
    if whole.ndim == 1:
        _elements[whole] = list(elements)
    return whole


def vector_elements(x):
    """The elements of a Croton vector if its length is known when the graph is built, else None."""
    known = _elements.get(_wrapped.get(x)) if x in _wrapped else None
    if known is not None:
        return known
    if x.ndim != 1:
        return None
    if x.is_constant:
        return [_croton.constant(v) for v in _croton.constant_value(x).tolist()] if _croton.constant_value(
            x).dtype.kind in "iub" else None
    application = _croton.application(x)
    if application is not None and application[0] in ("concatenate", "join"):
        parts = [vector_elements(part) for part in application[1]]
        return None if any(part is None for part in parts) else [e for part in parts for e in part]
    if x.sizes[0] is not None and x.sizes[0] <= 64:
        return [x[i] for i in range(x.sizes[0])]
    return None


def as_sizes(shape, ndim=None):
    """A shape as a list of sizes for Croton. The shape is a number, a variable, a list of both, or a vector, whose
    length is known or ndim. ValueError if the number of dimensions is unknown."""
    if _is_tensor(shape):
        if shape.ndim == 0:
            return [shape._croton]
        elements = vector_elements(shape._croton)
        if elements is not None:
            return elements
        if ndim is None:
            raise ValueError(f"the length of the shape {shape} is not known before it is computed; pass it as ndim=")
        stated = _croton.specify_shape(shape._croton, [ndim])
        return [stated[i] for i in range(ndim)]
    if isinstance(shape, numpy.ndarray):
        return [int(n) for n in shape.reshape(-1)]
    if isinstance(shape, (list, tuple)):
        return [as_sizes(x)[0] if _is_tensor(x) else _size(x) for x in shape]
    return [_size(shape)]


def _size(n):
    if isinstance(n, (float, numpy.floating)):
        raise TypeError(f"Shapes must be integers, not {n!r}")
    array = numpy.asarray(n)
    if array.dtype.kind not in "iub" or array.ndim:
        raise TypeError(f"a size is a whole number or an integer scalar variable, not {n!r}")
    return int(array)
