"""States of NumPy's generator as variables: Croton stores vectors of uint32; get_value and set_value convert them to
and from numpy.random.RandomState."""

import numpy

from croton import _croton

from .sharing import TensorSharedVariable, makes_shared
from .types import TensorType
from .variables import TensorVariable
from .wrapping import _wrapped, register

_WORDS = 624  # of the generator; then the number of used ones, whether a normal number is stored, and its 64 bits


def words_of(state):
    """The state of a RandomState as words."""
    name, keys, used, has_normal, normal = state.get_state(legacy=True)
    if name != "MT19937":
        raise TypeError(f"a state of MT19937 is needed, not of {name}")
    halves = numpy.array([normal], "float64").view("uint32")
    return numpy.concatenate([keys, [used, has_normal], halves]).astype("uint32")


def state_of(words, state=None):
    """A RandomState with the state of these words: `state` itself, if it is given."""
    state = numpy.random.RandomState() if state is None else state
    normal = numpy.array(words[_WORDS + 2:_WORDS + 4], "uint32").view("float64")[0]
    state.set_state(("MT19937", words[:_WORDS], int(words[_WORDS]), int(words[_WORDS + 1]), float(normal)))
    return state


class RandomStateType(TensorType):
    """The type of states of numpy.random.RandomState."""

    def __init__(self):
        super().__init__("uint32", (False,))

    def make_variable(self, name=None):
        variable = register(TensorVariable(_croton.variable("uint32", [None], name)))
        variable._type = self
        return variable

    def filter(self, data, strict=False, allow_downcast=None):
        """The data if it is a RandomState, else TypeError."""
        if not isinstance(data, numpy.random.RandomState):
            raise TypeError(f"expected a numpy.random.RandomState, got {data!r}")
        return data

    @staticmethod
    def may_share_memory(a, b):
        return a is b

    def is_valid_value(self, value, strict=False):
        return isinstance(value, numpy.random.RandomState)

    @staticmethod
    def values_eq(a, b, force_same_dtype=True):
        return bool((words_of(a) == words_of(b)).all())

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(RandomStateType)

    def __str__(self):
        return "RandomStateType"


random_state_type = RandomStateType()


class RandomStateSharedVariable(TensorSharedVariable):
    """A shared state, whose value is a numpy.random.RandomState."""

    _cached = None

    @property
    def type(self):
        return random_state_type

    def get_value(self, borrow=False, return_internal_type=False):
        """The current state as a new RandomState; with borrow always the same object, which is updated."""
        words = self._croton.get_value()
        if not borrow:
            return state_of(words)
        if self._cached is None or self._cached_version != self._croton.version:
            self._cache(state_of(words, self._cached))
        return self._cached

    def _cache(self, state):
        self._cached, self._cached_version = state, self._croton.version

    def set_value(self, new_value, borrow=False):
        """Sets the state; borrow: get_value(borrow=True) then returns this object."""
        self._croton.set_value(words_of(random_state_type.filter(new_value)))
        if borrow:
            self._cache(new_value)
        else:
            self._cached = None

    def get_state(self):
        return self.get_value(borrow=True).get_state()

    def set_state(self, state):
        value = self.get_value()
        value.set_state(state)
        self.set_value(value)

    def __deepcopy__(self, memo):
        return shared_state(self.get_value(), self.name)

    def __reduce__(self):
        return shared_state, (self.get_value(), self.name)


@makes_shared(numpy.random.RandomState)
def shared_state(value, name=None, borrow=False):
    """A shared variable with the state of a RandomState."""
    result = register(RandomStateSharedVariable._of(_croton.shared(words_of(value), name)))
    if borrow:
        result._cache(value)
    return result


def as_state(variable):
    """Theano's shared state of a Croton variable that is the state of a draw."""
    known = _wrapped.get(variable)
    return known if known is not None else register(RandomStateSharedVariable._of(variable))
