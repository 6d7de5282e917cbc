"""Theano's variables: thin objects around Croton's, one for each node of the graph as long as somebody holds it.

`wrap` gives Theano's object of a Croton variable, `unwrap` the other way round; what is between them is Croton.
"""

import contextlib
import itertools
import weakref

import numpy

from croton import _croton

from . import graph, types
from .configuration import config

_wrapped = weakref.WeakValueDictionary()  # Croton's variable -> ours
_numbers = itertools.count()


class AsTensorError(TypeError):
    """Something that cannot be made a tensor variable."""


class Variable:
    """Base of all variables: a node of a graph with a type, a name, the application that made it, and a tag."""

    _operands = ()  # the variables that it keeps alive

    def __init__(self, variable):
        self._croton = variable
        self._own = None  # an Apply of a Python op; else it is looked up
        self.tag = graph.scratchpad()

    def _claim(self, apply, index):
        self._own = apply
        self._index = index

    @property
    def owner(self):
        """The application that made it (owner.op, owner.inputs), or None."""
        if self._own is None:
            self._own = graph.applied(self) or False
        return self._own or None

    @owner.setter
    def owner(self, value):
        self._own = value or False

    @property
    def index(self):
        return getattr(self, "_index", 0) if self.owner is not None else None

    @property
    def name(self):
        return self._croton.name

    @name.setter
    def name(self, name):
        self._croton.name = None if name is None else str(name)

    @property
    def auto_name(self):
        if not hasattr(self, "_number"):
            self._number = next(_numbers)
        return f"auto_{self._number}"

    def get_parents(self):
        return [] if self.owner is None else [self.owner]

    def clone(self):
        """A variable of the same type and name that nothing made."""
        copy = self.type()
        copy.name = self.name
        copy.tag.__dict__.update(self.tag.__dict__)
        return copy

    def eval(self, inputs_to_values=None):
        """The value, given the values of the inputs: {variable: value}. The compiled function is kept."""
        from .compiling import function
        values = inputs_to_values or {}
        inputs = tuple(sorted(values, key=id))
        kept = self.__dict__.setdefault("_evaluators", {})
        if inputs not in kept:
            kept[inputs] = function(list(inputs), self, on_unused_input="raise")
        return kept[inputs](*[values[x] for x in inputs])

    def __str__(self):
        if self.name is not None:
            return self.name
        if self.owner is not None:
            if len(self.owner.outputs) == 1 or self.owner.op is None:
                return f"{self.owner.op}.0"
            return f"{self.owner.op}.{self.index}"
        return f"<{self.type}>"

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        from . import pickling
        return (pickling.reduce_input if self.owner is None else pickling.reduce_variable)(self)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        """The same expression of copies of its inputs and shared variables; a copy of an input."""
        import copy
        if self.owner is None:
            return self.clone()
        from .gradients import clone
        return clone(self, {x: copy.deepcopy(x, memo) for x in graph.inputs([self]) if not hasattr(x, "data")})


class DisconnectedVariable(Variable):
    """A gradient that does not exist."""

    def __init__(self):
        super().__init__(None)
        self._own = False
        self.type = types.DisconnectedType()
        self.name = None

    name = None


class NullVariable(Variable):
    """A gradient that is not defined."""

    name = None

    def __init__(self, type):
        super().__init__(None)
        self._own = False
        self.type = type


def _scalar_index(key):
    return isinstance(key, (int, numpy.integer)) and not isinstance(key, bool)


class TensorVariable(Variable):
    """A symbolic array. Operators and methods build new ones; == is identity (theano.tensor.eq compares)."""

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """array * variable and numpy.exp(variable): the function of theano.tensor, where there is one."""
        from .tensor.elementwise import of_numpy
        function = of_numpy(ufunc.__name__)
        return NotImplemented if function is None or method != "__call__" or kwargs else function(*inputs)

    def _repr_html_(self):
        from croton.notebook import variable_html
        return variable_html(self._croton)

    @property
    def type(self):
        if not hasattr(self, "_type"):
            self._type = types.TensorType(self._croton.dtype, self._croton.broadcastable)
        return self._type

    dtype = property(lambda self: self._croton.dtype, doc="The name of the element type.")
    ndim = property(lambda self: self._croton.ndim, doc="The number of dimensions.")
    broadcastable = property(lambda self: tuple(self._croton.broadcastable), doc="Per axis: is its size 1 for good?")
    T = property(lambda self: wrap(self._croton.T), doc="The axes reversed.")
    real = property(lambda self: wrap(self._croton.real))
    imag = property(lambda self: wrap(self._croton.imag))

    @property
    def size(self):
        """The number of elements."""
        size = wrap(self._croton.size)
        size._depends_on = [self]
        return size

    @property
    def shape(self):
        """The sizes as a vector of int64; its elements cost nothing."""
        sizes = vector_of(list(self._croton.shape))
        sizes._depends_on = [self]  # also where all sizes are known
        return sizes

    def __array__(self, *args, **kwargs):
        raise TypeError(f"{self} is symbolic and has no value before it is computed; use theano.tensor's functions on "
                        "it, not NumPy's, or x.eval()")

    # Programs ask `if input:` for "was one given"; what <, <=, > and >= give is the exception.
    _is_nonzero = True

    def __bool__(self):
        if self._is_nonzero:
            return True
        raise TypeError("Variables do not support boolean operations. Use theano.tensor.switch, or & | ~ in place of "
                        "and, or, not.")

    __nonzero__ = __bool__

    def __len__(self):
        raise TypeError("object of type 'TensorVariable' has no len(): its length is known only when a function is "
                        "called. Use x.shape[0].")

    def __float__(self):
        raise TypeError("float() of a symbolic variable: it has no value before it is computed; x.eval() computes it")

    def __int__(self):
        raise TypeError("int() of a symbolic variable: it has no value before it is computed; x.eval() computes it")

    __index__ = None

    def __iter__(self):
        elements = vector_elements(self._croton) if self.ndim == 1 else None
        if elements is None:
            raise TypeError("TensorType does not support iteration. Maybe you are using builtins.sum instead of "
                            "theano.tensor.sum? (Maybe .max?)")
        return iter([wrap(x) for x in elements])

    def __getitem__(self, key):
        if isinstance(key, list) and any(k is None or k is Ellipsis or isinstance(k, slice) for k in key):
            key = tuple(key)  # as NumPy took it
        elements = vector_elements(self._croton) if self.ndim == 1 else None
        if elements is not None:
            if _scalar_index(key) and -len(elements) <= key < len(elements):
                return wrap(elements[key])
            if isinstance(key, slice) and all(x is None or _scalar_index(x) for x in (key.start, key.stop, key.step)):
                part = elements[key]
                if part:
                    return vector_of(part)
        parts = key if isinstance(key, tuple) else (key,)
        if any(k is None for k in parts) and all(k is None or (isinstance(k, slice) and k == slice(None)) for k in parts):
            axes = iter(range(self.ndim))  # only new axes
            pattern = ["x" if k is None else next(axes) for k in parts]
            return wrap(_croton.dimshuffle(self._croton, [*pattern, *axes]))
        if self.ndim == 0 and any(k is not None and k is not Ellipsis for k in parts):
            raise IndexError(f"too many indices for array: {self} has no dimensions")
        return wrap(self._croton[unwrap_index(key)])

    def __setitem__(self, key, value):
        raise TypeError("'TensorVariable' object does not support item assignment; use "
                        "theano.tensor.set_subtensor(x[i], y), which gives a new variable")

    def __contains__(self, value):
        raise TypeError("x in variable: the values are known only when a function is called; use "
                        "theano.tensor.eq(variable, x).any()")

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def set_subtensor(self, y):
        from .tensor.subtensor import set_subtensor
        return set_subtensor(self, y)


class TensorConstant(TensorVariable):
    """A constant; `.data` and `.value` hold its value."""

    @property
    def data(self):
        if not hasattr(self, "_data"):
            self._data = _croton.constant_value(self._croton)
        return self._data

    value = data

    def signature(self):
        return (self.type, self.data.tobytes(), self.data.shape)

    def __str__(self):
        if self.name is not None:
            return self.name
        text = str(self.data) if self.data.size <= 20 else str(self.data.ravel()[:20])[:-1] + " ...]"
        return f"TensorConstant{{{text}}}"

    __repr__ = __str__

    def clone(self):
        return wrap(_croton.constant(self.data.copy()))

    def __reduce__(self):
        return _constant, (self.data, self.name)


def _constant(data, name):
    return wrap(_croton.constant(data, name))


# ---- between Theano's variables and Croton's

def wrap(x, operands=None):
    """Theano's variables of Croton's: one, or the same within lists and tuples; other things are left as they are.

    A new variable keeps those it is made of alive (or `operands`, which keep them): a graph has the objects it was
    built from, with their tags and the ops that were applied, as long as somebody holds its end.
    """
    if isinstance(x, _croton.Variable):
        known = _wrapped.get(x)
        if known is None:
            if isinstance(x, _croton.SharedVariable) or _croton.is_shared(x):
                from .sharing import TensorSharedVariable
                known = TensorSharedVariable._of(x)
            else:
                known = (TensorConstant if x.is_constant else TensorVariable)(x)
            known._operands = _croton.nearest([x], _wrapped.get) if operands is None else operands
            _wrapped[x] = known
            from . import test_values
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
    if isinstance(x, graph.Apply):
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
    elif not isinstance(x, TensorVariable):
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
    if isinstance(shape, TensorVariable):
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
        return [as_sizes(x)[0] if isinstance(x, TensorVariable) else _size(x) for x in shape]
    return [_size(shape)]


def _size(n):
    if isinstance(n, (float, numpy.floating)):
        raise TypeError(f"Shapes must be integers, not {n!r}")
    array = numpy.asarray(n)
    if array.dtype.kind not in "iub" or array.ndim:
        raise TypeError(f"a size is a whole number or an integer scalar variable, not {n!r}")
    return int(array)
