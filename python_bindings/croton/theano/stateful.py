"""Functions with inputs that have values of their own: defaults (In(value=)), states that a call updates (In(update=)),
containers that several functions share, and states of NumPy's generator.

The values are in containers on the host. Updated states are additional outputs of the compiled function, which are
stored after the call; a call that raises does not change any state.
"""

import numpy

from .containers import Container, SharedContainer
from .random_states import RandomStateType, state_of, words_of

_MISSING = object()


def needed(inputs, outputs):
    """Whether a function of these In and Out objects is stateful."""
    return any(i.value is not None or i.update is not None for i in inputs) or any(
        isinstance(x.variable.type, RandomStateType) for x in [*inputs, *outputs])


class StatefulInput:
    """An input of a stateful function: its In and its container, and their use in calls."""

    def __init__(self, input, allow_downcast):
        self.input = input
        self.is_state = isinstance(input.variable.type, RandomStateType)
        downcast = allow_downcast if input.allow_downcast is None else input.allow_downcast
        foreign = isinstance(input.value, (Container, SharedContainer))
        self.container = input.value if foreign else Container(input.variable.type, input.value, input.strict, downcast,
                                                               input.name)
        self.shared = input.value._variable if isinstance(input.value, SharedContainer) else None
        self.required = input.value is None
        # A default is restored after a call with another value; a state is not.
        self.refeed = not self.required and not foreign and input.update is None
        self.default = self.container.storage[0] if self.refeed else None

    def converted(self, value):
        """An argument converted for the container."""
        if isinstance(self.container, Container):
            return self.container.converted(value)
        return self.input.variable.type.filter(value)

    def argument(self, value):
        """A container's value as an argument of the compiled function."""
        return words_of(value) if self.is_state else value

    def store(self, array):
        """Stores a state that the compiled function computed."""
        if self.is_state:
            known = self.container.storage[0]
            self.container.storage[0] = state_of(array, known if self.input.mutable else None)
        else:
            self.container.storage[0] = array


class Stateful:
    """Calls of stateful functions; their classes derive from it and from the class of compiled functions."""

    def _bind(self, inputs, outputs, names, single):
        self._inputs = inputs  # a StatefulInput for each of the caller's inputs
        self._with_default = [i for i in inputs if i.refeed]
        self._updated = [i for i in inputs if i.input.update is not None and i.shared is None]
        self._states = [isinstance(o.variable.type, RandomStateType) for o in outputs]
        self._names, self._single = names, single

    @property
    def defaults(self):
        """For each input: whether calls must set it, whether it is reset after each call, and the value."""
        return [(i.required, i.refeed, i.container.value if not i.required else None) for i in self._inputs]

    def __call__(self, *args, output_subset=None, **kwargs):
        """The outputs; output_subset: only those at these positions, or with these keys of a dict of outputs."""
        values, lasting, shared = [], [], []
        for i, value in zip(self._inputs, self._in_order(args, kwargs)):
            if value is _MISSING:
                if i.required:
                    raise TypeError(f"Missing required input: {i.input.variable}")
                value = i.container.storage[0]
            elif i.input.implicit:
                raise TypeError(f"Tried to provide value for implicit input: {i.input.variable}")
            elif i.shared is not None:
                shared.append((i.shared, value))
            elif not i.refeed and not i.required:
                lasting.append((i, value))
            if i.shared is None:
                values.append(i.argument(value))
        results = self._computed(values, shared)
        for i, value in lasting:
            i.container.storage[0] = value
        count = len(self._states)
        for i, array in zip(self._updated, results[count:]):
            i.store(array)
        outputs = [state_of(r) if state else r for r, state in zip(results, self._states)]
        return self._formatted(outputs, output_subset)

    def _computed(self, values, shared):
        """The results of the compiled function, called with values of shared variables that are restored if it
        raises."""
        before = [(x, x.get_value()) for x, _ in shared]
        try:
            for x, value in shared:
                x.set_value(value)
            return super().__call__(*values)
        except Exception:
            for x, value in before:
                x.set_value(value)
            raise
        finally:
            for i in self._with_default:
                i.container.storage[0] = i.default

    def _in_order(self, args, kwargs):
        """The converted arguments of a call in the order of the inputs; _MISSING for inputs without one."""
        if len(args) + len(kwargs) > len(self._inputs):
            raise TypeError("Too many parameter passed to theano function")
        values = list(args) + [_MISSING] * (len(self._inputs) - len(args))
        for name, value in kwargs.items():
            at = [position for position, i in enumerate(self._inputs) if i.input.name == name]
            if len(at) != 1:
                raise TypeError(f"Unknown input or state: {name}" if not at else f"Ambiguous name: {name}")
            if values[at[0]] is not _MISSING:
                raise TypeError(f"Multiple values for input: {name}")
            values[at[0]] = value
        return [x if x is _MISSING else self._converted(position, x) for position, x in enumerate(values)]

    def _converted(self, position, value):
        if self.trust_input:
            if not isinstance(value, (numpy.ndarray, numpy.random.RandomState)):
                raise ValueError(f"trust_input is set, so arguments must be arrays; argument {position} is {value!r}")
            return value
        try:
            return self._inputs[position].converted(value)
        except (TypeError, ValueError) as error:
            name = f'with name "{self.name}" ' if self._arguments.get("name") else ""
            raise type(error)(f"Bad input argument to theano function {name}at index {position} (0-based). "
                              f"{error}") from None

    def _formatted(self, outputs, subset):
        if self._names is not None:
            by_name = dict(zip(self._names, outputs))
            return by_name if subset is None else {key: by_name[key] for key in subset}
        if subset is not None:
            return [outputs[position] for position in subset]
        return outputs[0] if self._single else outputs

    def _input_containers(self):
        return [i.container for i in self._inputs]

    def _set_containers(self, containers):
        for i, container in zip(self._inputs, containers):
            if i.shared is None:
                i.container = container
                i.default = container.storage[0] if i.refeed else None

    def _copy_states(self, other):
        """Copies the values of another function with the same inputs: defaults are shared, states are copied."""
        for mine, theirs in zip(self._inputs, other._inputs):
            if mine.shared is None and mine.container is not theirs.container and not mine.required:
                value = theirs.container.value
                mine.container.storage[0] = mine.default = value if theirs.refeed else _copy(value)


def _copy(value):
    return state_of(words_of(value)) if isinstance(value, numpy.random.RandomState) else numpy.copy(value)
