"""Shared variables."""

import copy
import weakref

import numpy

from croton import _croton

from . import types
from .configuration import config
from .containers import SharedContainer
from .graph import Variable
from .variables import TensorVariable
from .wrapping import as_variable, register, wrapper_of


class SharedVariable(Variable):
    """A variable with a value that lives between calls. The class itself constructs a TensorSharedVariable for a type
    of arrays, and a GenericSharedVariable for other types."""

    def __new__(cls, name=None, type=None, value=None, strict=False, allow_downcast=None, container=None):
        if cls is SharedVariable:
            cls = TensorSharedVariable if isinstance(type, types.TensorType) else GenericSharedVariable
        return super().__new__(cls)

    def __init__(self, name=None, type=None, value=None, strict=False, allow_downcast=None, container=None):
        value = container.value if container is not None else type.filter(value, strict, allow_downcast)
        super().__init__(_croton.shared(value, name, False, None, list(type.broadcastable)))
        self._strict, self._allow_downcast = strict, allow_downcast
        register(self)

    @property
    def container(self):
        """The container of the value: container.value, container.storage[0]."""
        if not hasattr(self, "_container"):
            self._container = SharedContainer(self)
        return self._container


@wrapper_of("shared")
class TensorSharedVariable(SharedVariable, TensorVariable):
    """A shared array. get_value and set_value read and write it; functions update it."""

    default = None

    @classmethod
    def _of(cls, variable):
        """Theano's variable of a shared variable of Croton."""
        if not isinstance(variable, _croton.SharedVariable):
            variable = _croton.as_shared(variable)
        result = cls.__new__(cls)
        Variable.__init__(result, variable)
        return result

    @property
    def target(self):
        """The device that stores the value."""
        return self._croton.home

    def get_value(self, borrow=False, return_internal_type=False):
        """A copy of the value; with borrow it may be the memory itself: on the CPU it is, and it is the same object
        until another value is set."""
        if not borrow or self._croton.home != "cpu":
            return self._croton.get_value(borrow)
        version, borrowed = self._borrowed
        array = borrowed()
        if array is None or version != self._croton.version:
            array = self._cache_borrowed(self._croton.get_value(True))
        return array

    # The version of the value at the last get_value(borrow=True), and a weak reference to its result.
    _borrowed = (None, lambda: None)

    def _cache_borrowed(self, array):
        self._borrowed = (self._croton.version, weakref.ref(array))
        return array

    def set_value(self, new_value, borrow=False):
        """Replaces the value. TypeError for another number of dimensions, for a dtype whose conversion would lose
        precision, and for sizes other than 1 along broadcastable axes."""
        if isinstance(new_value, Variable):
            raise TypeError(f"set_value takes a value, not a symbolic variable: {new_value}")
        array = self.type.filter(new_value, strict=getattr(self, "_strict", False),
                                 allow_downcast=getattr(self, "_allow_downcast", None))
        self._croton.set_value(array, borrow and array.flags.writeable)
        if borrow and array.flags.writeable and self._croton.home == "cpu" and numpy.may_share_memory(
                array, self._croton.get_value(True)):
            self._cache_borrowed(array)

    def zero(self, borrow=False):
        """Sets all elements to 0."""
        self.set_value(numpy.zeros_like(self.get_value(borrow=True)))

    @property
    def default_update(self):
        """The update of every function that uses the variable and has no other update for it."""
        return self._default_update  # AttributeError if there is none, for hasattr

    @default_update.setter
    def default_update(self, value):
        self._default_update = value
        self._croton.set_default_update(self._croton if value is None else self.type_checked(value)._croton)

    @default_update.deleter
    def default_update(self):
        del self._default_update
        self._croton.set_default_update(self._croton)  # the identity: no change

    def type_checked(self, value):
        value = as_variable(value)
        if value.dtype != self.dtype or value.ndim != self.ndim:
            raise TypeError(f"a default update of {self} ({self.type}) is of another type: {value.type}")
        return value

    def clone(self):
        """The variable itself: a clone shares its storage."""
        return self

    def __reduce__(self):
        return _shared_again, (self.get_value(), self.name, self.broadcastable)

    def __deepcopy__(self, memo):
        return _shared_again(self.get_value(), self.name, self.broadcastable)

    def __str__(self):
        return self.name if self.name is not None else f"<{self.type}>"

    __repr__ = __str__


def _shared_again(value, name, broadcastable):
    return shared(value, name, broadcastable=broadcastable)


class GenericSharedVariable(SharedVariable):
    """A shared variable of a Python object that is not an array; it cannot be part of an expression."""

    def __init__(self, name=None, type=None, value=None, strict=False, allow_downcast=None, container=None):
        Variable.__init__(self, None)
        self._owner = False
        self.type = types.generic if type is None else type
        self._value = value
        self._name = name

    @property
    def name(self):
        return self._name

    @name.setter
    def name(self, name):
        self._name = name

    def get_value(self, borrow=False, return_internal_type=False):
        """The object (without borrow a deep copy)."""
        return self._value if borrow else copy.deepcopy(self._value)

    def set_value(self, new_value, borrow=False):
        self._value = new_value if borrow else copy.deepcopy(new_value)


_makers = {}


def makes_shared(kind):
    """Decorator of the function (value, name, borrow) that makes a shared variable of an object that is not an
    array."""
    def marked(make):
        _makers[kind] = make
        return make

    return marked


def shared(value, name=None, strict=False, allow_downcast=None, **kwargs):
    """A shared variable of an array or number, which determines its dtype and number of dimensions.

    borrow: use the array's memory. broadcastable: for each axis whether its size is always 1 (default: none). target:
    the device that stores it ("cuda1", or "dev0" of the flag contexts). A list or another object becomes a generic
    variable, which cannot be part of an expression. TypeError for symbolic variables.
    """
    if isinstance(value, Variable):
        raise TypeError("Shared variable constructor needs numeric values and not symbolic variables.")
    borrow = kwargs.pop("borrow", False)
    broadcastable = kwargs.pop("broadcastable", None)
    target = kwargs.pop("target", None)
    if kwargs:
        raise TypeError(f"No suitable SharedVariable constructor could be found. Are you sure all kwargs are "
                        f"supported? {sorted(kwargs)} are not: name, strict, allow_downcast, borrow, broadcastable and "
                        "target are.")
    if not isinstance(value, (numpy.ndarray, numpy.generic, int, float, complex, bool)):
        for kind, make in _makers.items():
            if isinstance(value, kind):
                return make(value, name, borrow)
        if hasattr(value, "__array__"):
            value = numpy.asarray(value)
        else:
            return GenericSharedVariable(name, types.generic, value)
    array = value if isinstance(value, numpy.ndarray) else numpy.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"No suitable SharedVariable constructor could be found. The value is an array of dtype "
                        f"{array.dtype}; only numbers are supported.")
    variable = _croton.shared(array, name, borrow and array.flags.writeable, _target(target),
                              list(broadcastable or []))
    result = register(TensorSharedVariable._of(variable))
    result._strict, result._allow_downcast = strict, allow_downcast
    return result


def _target(target):
    """The device of a target: a name of the flag contexts, or a device; "gpu" is the first GPU."""
    names = dict(pair.split("->") for pair in config.contexts.split(";") if "->" in pair)
    return names.get(target, target)


def shared_constructor(value, name=None, strict=False, allow_downcast=None, target="gpu", **kwargs):
    """A shared variable stored on a device ("gpu": the first GPU), as in theano.gpuarray."""
    return shared(value, name, strict, allow_downcast, target=target, **kwargs)


def use(device, **_):
    """Makes a device the default for later shared variables and calls: "cuda0", "gpu0", "gpu,0". ValueError or
    DeviceError, with a list of the devices, for an unknown one."""
    _croton.use(device)
