"""States of NumPy's generator as variables: vectors of uint32 for Croton, numpy.random.RandomState for whoever sets and
reads them."""

import numpy

from croton import _croton

from .sharing import TensorSharedVariable, makes_shared
from .types import TensorType
from .variables import TensorVariable
from .wrapping import _wrapped, register

_WORDS = 624  # of the generator; then how many are used up, whether a normal number is kept, and its 64 bits


def words_of(state):
    """The words of a RandomState."""
    name, keys, used, has_normal, normal = state.get_state(legacy=True)
    if name != "MT19937":
        raise TypeError(f"a state of MT19937 is needed, not of {name}")
    halves = numpy.array([normal], "float64").view("uint32")
    return numpy.concatenate([keys, [used, has_normal], halves]).astype("uint32")


def state_of(words, state=None):
    """A RandomState of words; the given one is set to them."""
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
        """The RandomState. TypeError for anything else."""
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
    """A shared state: get_value and set_value speak numpy.random.RandomState."""

    _object = None

    @property
    def type(self):
        return random_state_type

    def get_value(self, borrow=False, return_internal_type=False):
        """The state now as a RandomState of its own; with borrow always the same object, brought up to date."""
        words = self._croton.get_value()
        if not borrow:
            return state_of(words)
        if self._object is None or self._of_version != self._croton.version:
            self._keep(state_of(words, self._object))
        return self._object

    def _keep(self, state):
        self._object, self._of_version = state, self._croton.version

    def set_value(self, new_value, borrow=False):
        """Sets the state; borrow: the object is the one that get_value(borrow=True) gives."""
        self._croton.set_value(words_of(random_state_type.filter(new_value)))
        self._keep(new_value) if borrow else self._forget()

    def _forget(self):
        self._object = None

    def get_state(self):
        return self.get_value(borrow=True).get_state()

    def set_state(self, state):
        changed = self.get_value()
        changed.set_state(state)
        self.set_value(changed)

    def __deepcopy__(self, memo):
        return shared_state(self.get_value(), self.name)

    def __reduce__(self):
        return shared_state, (self.get_value(), self.name)


@makes_shared(numpy.random.RandomState)
def shared_state(value, name=None, borrow=False):
    """A shared variable of a RandomState."""
    result = register(RandomStateSharedVariable._of(_croton.shared(words_of(value), name)))
    if borrow:
        result._keep(value)
    return result


def as_state(variable):
    """The object of a Croton variable that is the state of a draw."""
    known = _wrapped.get(variable)
    return known if known is not None else register(RandomStateSharedVariable._of(variable))
