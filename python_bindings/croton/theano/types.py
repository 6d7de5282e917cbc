"""Theano's types of variables: a dtype and, for each axis, whether its size is always 1; and the types of missing
gradients, with their variables."""

import numpy

from croton import _croton

from .configuration import config
from .graph import Variable
from .wrapping import as_variable, wrap

_TENSOR_NAMES = {(): "scalar", (False,): "vector", (False, False): "matrix", (True, False): "row", (False, True): "col",
                 (True,): "(True,)"}
_DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
           "float64", "complex64", "complex128"}


class Type:
    """Base of all types."""

    def __call__(self, name=None):
        return self.make_variable(name)

    def filter_variable(self, other, allow_convert=True):
        """The variable if it has this type, else TypeError."""
        other = as_variable(other)
        if other.type != self:
            raise TypeError(f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}. You can try to "
                            f"manually convert {other} into a {self}.")
        return other

    def is_valid_value(self, value):
        """Whether the value has this type without conversion."""
        try:
            self.filter(value, strict=True)
            return True
        except (TypeError, ValueError):
            return False


class TensorType(Type):
    """The type of arrays: `TensorType("float32", (False, True))`; calling it makes an input of that type.

    broadcastable: for each axis whether its size is 1, so that it broadcasts. Types are equal if dtype and
    broadcastable are.
    """

    context_name = "cpu"
    filter_checks_isfinite = False

    def __init__(self, dtype, broadcastable, name=None, sparse_grad=False):
        self.dtype = config.floatX if str(dtype) == "floatX" else \
            str(numpy.dtype(dtype)) if dtype != "bfloat16" else dtype
        if self.dtype not in _DTYPES:
            raise TypeError(f"Unsupported dtype for TensorType: {dtype}")
        self.broadcastable = tuple(bool(b) for b in broadcastable)
        self.ndim = len(self.broadcastable)
        self.name = name
        self.sparse_grad = sparse_grad

    @property
    def numpy_dtype(self):
        return numpy.dtype(self.dtype)

    def make_variable(self, name=None):
        return wrap(_croton.variable(self.dtype, [1 if b else None for b in self.broadcastable], name))

    def clone(self, dtype=None, broadcastable=None):
        """The type with another dtype or broadcastable, if they are given."""
        return TensorType(self.dtype if dtype is None else dtype,
                          self.broadcastable if broadcastable is None else broadcastable)

    def filter(self, data, strict=False, allow_downcast=None):
        """The value as an array of this type. TypeError if the conversion would lose precision."""
        if isinstance(data, Variable):
            raise TypeError("Expected an array-like object, but found a Variable: maybe you are trying to call a "
                            "function on a (possibly shared) variable instead of a numeric array?")
        if strict:
            if not isinstance(data, numpy.ndarray):
                raise TypeError(f"{self} expected a ndarray object. {data!r} {type(data)}")
            if str(data.dtype) != self.dtype:
                raise TypeError(f"{self} expected a ndarray object with dtype = {self.dtype} (got {data.dtype}).")
            array = data
        else:
            array = self._converted(data, allow_downcast)
        if array.ndim != self.ndim:
            raise TypeError(f"Wrong number of dimensions: expected {self.ndim}, got {array.ndim} with shape "
                            f"{array.shape}.")
        for axis, broadcasts in enumerate(self.broadcastable):
            if broadcasts and array.shape[axis] != 1:
                raise TypeError("Non-unit value on shape on a broadcastable dimension.", array.shape,
                                self.broadcastable)
        return array

    def _converted(self, data, allow_downcast):
        array = numpy.asarray(data)
        if str(array.dtype) == self.dtype:
            return array
        if array.dtype == object:
            raise TypeError(f"{self} expected an array of numbers, not {data!r}")
        if array.dtype.kind == "c" and not self.dtype.startswith("complex"):
            raise TypeError(f"{self} does not accept complex numbers; pass the real or the imaginary part")
        converted = array.astype(self.dtype)
        if allow_downcast or numpy.can_cast(array.dtype, self.dtype, "safe"):
            return converted
        is_float = isinstance(data, float) and not isinstance(data, numpy.floating)
        if allow_downcast is None and is_float and self.dtype == config.floatX:
            return converted
        if not isinstance(data, (numpy.ndarray, numpy.generic)) and (converted == array).all():
            return converted
        raise TypeError(f"{self} cannot accept a value of dtype {array.dtype} without risk of losing precision: "
                        f"{data!r}. Pass allow_input_downcast=True, or convert it with .astype('{self.dtype}').")

    def value_zeros(self, shape):
        return numpy.zeros(shape, self.dtype)

    @staticmethod
    def values_eq(a, b, force_same_dtype=True):
        """Whether two values are equal; nan equals nan."""
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.shape != b.shape or (force_same_dtype and a.dtype != b.dtype):
            return False
        return bool(numpy.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc"))

    @staticmethod
    def values_eq_approx(a, b, allow_remove_inf=False, allow_remove_nan=False, rtol=None, atol=None):
        """Whether two values are equal within the rounding errors of their dtype."""
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            return bool(numpy.array_equal(a, b))
        narrow = a.dtype in (numpy.float32, numpy.complex64, numpy.float16)
        rtol = (1e-5 if narrow else 1e-7) if rtol is None else rtol
        atol = (1e-4 if narrow else 1e-8) if atol is None else atol
        excluded = numpy.zeros(a.shape, bool)
        if allow_remove_nan:
            excluded |= numpy.isnan(a) | numpy.isnan(b)
        if allow_remove_inf:
            excluded |= numpy.isinf(a) | numpy.isinf(b)
        return bool(numpy.all(numpy.isclose(a, b, rtol, atol, equal_nan=True) | excluded))

    def __eq__(self, other):
        return (isinstance(other, TensorType) and self.dtype == other.dtype and
                self.broadcastable == other.broadcastable)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((TensorType, self.dtype, self.broadcastable))

    def __str__(self):
        if self.name:
            return self.name
        shape = _TENSOR_NAMES.get(self.broadcastable)
        if shape is None:
            shape = f"{self.ndim}D" if not any(self.broadcastable) else str(self.broadcastable)
        return f"TensorType({self.dtype}, {shape})"

    def __repr__(self):
        return str(self)


class Generic(Type):
    """The type of Python objects that are not arrays, which cannot be part of an expression."""

    ndim = None

    def filter(self, data, strict=False, allow_downcast=None):
        return data

    def make_variable(self, name=None):
        raise NotImplementedError("inputs that are not arrays are not supported; keep Python objects in Python")

    def __str__(self):
        return "<theano.gof.type.Generic>"

    __repr__ = __str__


generic = Generic()


class NoneConstant:
    """theano.tensor.NoneConst: None as a constant, for optional arguments."""

    data = value = name = owner = None
    type = generic

    def __str__(self):
        return "NoneConst"

    __repr__ = __str__


NoneConst = NoneConstant()


class DisconnectedType(Type):
    """The type of a gradient that does not exist, because the cost does not depend on the variable."""

    def make_variable(self, name=None):
        return DisconnectedVariable()

    def __eq__(self, other):
        return isinstance(other, DisconnectedType)

    def __hash__(self):
        return hash(DisconnectedType)

    def __str__(self):
        return "DisconnectedType"


class DisconnectedVariable(Variable):
    """A gradient that does not exist."""

    def __init__(self):
        super().__init__(None)
        self._owner = False
        self.type = DisconnectedType()
        self.name = None

    name = None


class NullType(Type):
    """The type of a gradient that is not defined; `why` is the reason."""

    def __init__(self, why="(no explanation given)"):
        self.why_null = why

    def make_variable(self, name=None):
        return NullVariable(self)

    def __eq__(self, other):
        return isinstance(other, NullType)

    def __hash__(self):
        return hash(NullType)

    def __str__(self):
        return "NullType"


class NullVariable(Variable):
    """A gradient that is not defined."""

    name = None

    def __init__(self, type):
        super().__init__(None)
        self._owner = False
        self.type = type
