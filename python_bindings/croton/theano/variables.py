"""Theano's variables: thin wrappers of Croton's, which are the graph. wrapping.py converts between them; methods.py and
tensor/methods.py have the methods that need other modules."""

import numpy

from croton import _croton
from croton.notebook import variable_html

from . import types
from .croton_op import CrotonOp
from .graph import Apply, Variable
from .wrapping import unwrap_index, vector_elements, vector_of, wrap, wrapper_of


def _scalar_index(key):
    return isinstance(key, (int, numpy.integer)) and not isinstance(key, bool)


@wrapper_of("other")
class TensorVariable(Variable):
    """A symbolic array. Operators and methods build new ones; == is identity (theano.tensor.eq compares)."""

    __array_priority__ = 1000

    def _applied(self):
        application = _croton.application(self._croton)
        if application is None:
            return None
        name, inputs = application[0], wrap(application[1], self._operands)
        return Apply(CrotonOp.shown(name, inputs), inputs, [self])

    def _repr_html_(self):
        return variable_html(self._croton)

    @property
    def type(self):
        if not hasattr(self, "_type"):
            self._type = types.TensorType(self._croton.dtype, self._croton.broadcastable)
        return self._type

    dtype = property(lambda self: self._croton.dtype, doc="The name of the element type.")
    ndim = property(lambda self: self._croton.ndim, doc="The number of dimensions.")
    broadcastable = property(lambda self: tuple(self._croton.broadcastable),
                             doc="For each axis, whether its size is always 1.")
    T = property(lambda self: wrap(self._croton.T), doc="The transpose: the variable with its axes reversed.")
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
        """The sizes as a vector of int64, which never computes the variable."""
        sizes = vector_of(list(self._croton.shape))
        sizes._depends_on = [self]  # even if all sizes are known
        return sizes

    def __array__(self, *args, **kwargs):
        raise TypeError(f"{self} is symbolic and has no value before it is computed; use theano.tensor's functions on "
                        "it, not NumPy's, or x.eval()")

    # Programs test `if input:` for an optional variable; only results of <, <=, > and >= raise.
    _is_nonzero = True

    def __bool__(self):
        if self._is_nonzero:
            return True
        raise TypeError("Variables do not support boolean operations. Use theano.tensor.switch, or & | ~ instead of "
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
            key = tuple(key)  # as in old versions of NumPy
        elements = vector_elements(self._croton) if self.ndim == 1 else None
        if elements is not None:
            if _scalar_index(key) and -len(elements) <= key < len(elements):
                return wrap(elements[key])
            if isinstance(key, slice) and all(x is None or _scalar_index(x) for x in (key.start, key.stop, key.step)):
                part = elements[key]
                if part:
                    return vector_of(part)
        parts = key if isinstance(key, tuple) else (key,)
        only_whole = all(k is None or (isinstance(k, slice) and k == slice(None)) for k in parts)
        if any(k is None for k in parts) and only_whole:
            axes = iter(range(self.ndim))  # only new axes
            pattern = ["x" if k is None else next(axes) for k in parts]
            return wrap(_croton.dimshuffle(self._croton, [*pattern, *axes]))
        if self.ndim == 0 and any(k is not None and k is not Ellipsis for k in parts):
            raise IndexError(f"too many indices for array: {self} has no dimensions")
        return wrap(self._croton[unwrap_index(key)])

    def __setitem__(self, key, value):
        raise TypeError("'TensorVariable' object does not support item assignment; use "
                        "theano.tensor.set_subtensor(x[i], y), which returns a new variable")

    def __contains__(self, value):
        raise TypeError("x in variable: the values are known only when a function is called; use "
                        "theano.tensor.eq(variable, x).any()")

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other


@wrapper_of("constant")
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
