"""Between Theano's variables and Croton's: `wrap` gives Theano's object of a Croton variable, one for each node of the
graph as long as somebody holds it, `unwrap` the other way round, `as_variable` a variable of what programs write in its
place."""

import contextlib
import weakref

import numpy

from croton import _croton

from . import test_values
from .configuration import config
from .graph import Apply, Variable

_wrapped = weakref.WeakValueDictionary()  # Croton's variable -> ours
_classes = {}


def stands_for(kind):
    """Marks the class of what stands for Croton's variables of a kind: "shared", "constant" or "other"."""
    def marked(cls):
        _classes[kind] = cls
        return cls

    return marked


class AsTensorError(TypeError):
    """Something that cannot be made a tensor variable."""


def wrap(x, operands=None):
    """Theano's variables of Croton's: one, or the same within lists and tuples; other things are left as they are.

    A new variable keeps those it is made of alive (or `operands`, which keep them): a graph has the objects it was
    built from, with their tags and the ops that were applied, as long as somebody holds its end.
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
        if operands is None:  # one walk for all: what a gradient gives is made of much in common
            operands = _croton.nearest([y for y in x if isinstance(y, _croton.Variable)], _wrapped.get)
        return type(x)(wrap(item, operands) for item in x)
    return x


def register(variable):
    """Makes a variable the one object of its node."""
    _wrapped[variable._croton] = variable
    return variable


def unwrap(x):
    """Croton's variables of Theano's, also within lists, tuples and dicts."""
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
    """Whether a list has a variable in it, however deep."""
    return isinstance(x, Variable) or (isinstance(x, (list, tuple)) and any(holds_variable(item) for item in x))


class _AutocastFloat:
    """Which dtypes constants of Python's floats may have: the first that holds one exactly, else the last."""

    dtypes = DEFAULT = ("float16", "float32", "float64")

    def __call__(self, x):
        for dtype in self.dtypes:
            if (numpy.asarray(x, dtype) == x).all():
                break
        return numpy.asarray(x, dtype)


autocast_float = _AutocastFloat()


@contextlib.contextmanager
def autocast_float_as(*dtypes):
    """Within it constants of Python's floats have one of these dtypes."""
    before, autocast_float.dtypes = autocast_float.dtypes, dtypes
    try:
        yield
    finally:
        autocast_float.dtypes = before


def as_variable(x, name=None, ndim=None):
    """The variable itself, a constant of a number or array, or of a list with variables in it their stack.

    A whole number takes the smallest integer dtype that holds it; a real one float32 where that is exact, else floatX;
    NumPy's numbers keep their dtype. ndim: the number of dimensions wanted; axes of size 1 are put in front or taken
    from there. AsTensorError for anything else.
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
        if isinstance(x, numpy.float64):  # a float too, but one with a dtype
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


# Vectors of known elements, such as shapes: indexing and iterating gives the elements themselves. By their nodes, as
# long as these are wrapped.
_elements = weakref.WeakKeyDictionary()


def vector_of(elements):
    """A vector (or, of arrays, one dimension more) of these Croton variables."""
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
    """The elements of a Croton vector whose length is known from how it was made, else None."""
    known = _elements.get(_wrapped.get(x)) if x in _wrapped else None
    if known is not None:
        return known
    if x.ndim != 1:
        return None
    if x.is_constant:
        return [_croton.constant(v) for v in _croton.constant_value(x).tolist()] if _croton.constant_value(
            x).dtype.kind in "iub" else None
    made = _croton.application(x)
    if made is not None and made[0] in ("concatenate", "join"):
        parts = [vector_elements(part) for part in made[1]]
        return None if any(part is None for part in parts) else [e for part in parts for e in part]
    if x.sizes[0] is not None and x.sizes[0] <= 64:
        return [x[i] for i in range(x.sizes[0])]
    return None


def as_sizes(shape, ndim=None):
    """A shape as a list of Croton's sizes: numbers, variables, lists of both, or a vector of known length (ndim says
    it where it is not). ValueError where the number of dimensions cannot be known."""
    if _is_tensor(shape):
        if shape.ndim == 0:
            return [shape._croton]
        elements = vector_elements(shape._croton)
        if elements is not None:
            return elements
        if ndim is None:
            raise ValueError(f"the length of the shape {shape} cannot be known before it is computed; ndim= says it")
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
