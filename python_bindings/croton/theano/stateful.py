"""Functions of inputs that have values of their own: defaults (In(value=)), states that a call updates (In(update=)),
containers that several functions share, and states of NumPy's generator.

The values are kept in containers on the host; what a call updates is one more output of the compiled function, stored
when the call is over. So a call that raises leaves all states as they were.
"""

import numpy

from .containers import Container, SharedContainer
from .random_states import RandomStateType, state_of, words_of

_NOTHING = object()


def needed(inputs, outputs):
    """Whether a function of these In and Out objects is stateful."""
    return any(i.value is not None or i.update is not None for i in inputs) or any(
        isinstance(x.variable.type, RandomStateType) for x in [*inputs, *outputs])


class StatefulInput:
    """One input of a stateful function: its In, its container, and what a call does with both."""

    def __init__(self, given, allow_downcast):
        self.given = given
        self.is_state = isinstance(given.variable.type, RandomStateType)
        downcast = allow_downcast if given.allow_downcast is None else given.allow_downcast
        foreign = isinstance(given.value, (Container, SharedContainer))
        self.container = given.value if foreign else Container(given.variable.type, given.value, given.strict, downcast,
                                                               given.name)
        self.shared = given.value._variable if isinstance(given.value, SharedContainer) else None
        self.required = given.value is None
        # A default is there again after a call that was given another value; a state is not.
        self.refeed = not self.required and not foreign and given.update is None
        self.default = self.container.storage[0] if self.refeed else None

    def converted(self, value):
        """An argument as it is kept."""
        if isinstance(self.container, Container):
            return self.container.converted(value)
        return self.given.variable.type.filter(value)

    def argument(self, value):
        """A kept value as the compiled function takes it."""
        return words_of(value) if self.is_state else value

    def keep(self, array):
        """Stores what the compiled function computed for the next call."""
        if self.is_state:
            known = self.container.storage[0]
            self.container.storage[0] = state_of(array, known if self.given.mutable else None)
        else:
            self.container.storage[0] = array


class Stateful:
    """The calls of stateful functions; the class of a function derives from it and from the compiled one."""

    def _bind(self, inputs, outputs, names, single):
        self._inputs = inputs  # StatefulInput, one for each that a caller sees
        self._with_default = [i for i in inputs if i.refeed]
        self._updated = [i for i in inputs if i.given.update is not None and i.shared is None]
        self._states = [isinstance(o.variable.type, RandomStateType) for o in outputs]
        self._names, self._single = names, single

    @property
    def defaults(self):
        """For each input: must calls give it, is it set back after each call, and the value."""
        return [(i.required, i.refeed, i.container.value if not i.required else None) for i in self._inputs]

    def __call__(self, *args, output_subset=None, **kwargs):
        """The outputs; output_subset: only those of these positions, or keys of a dict of outputs."""
        values, lasting, shared = [], [], []
        for i, value in zip(self._inputs, self._in_order(args, kwargs)):
            if value is _NOTHING:
                if i.required:
                    raise TypeError(f"Missing required input: {i.given.variable}")
                value = i.container.storage[0]
            elif i.given.implicit:
                raise TypeError(f"Tried to provide value for implicit input: {i.given.variable}")
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
            i.keep(array)
        outputs = [state_of(r) if state else r for r, state in zip(results, self._states)]
        return self._as_asked(outputs, output_subset)

    def _computed(self, values, shared):
        """What the compiled function gives, with values of shared variables that are set back if it raises."""
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
        """The values that a call gives, in the order of the inputs and converted; _NOTHING where it gives none."""
        if len(args) + len(kwargs) > len(self._inputs):
            raise TypeError("Too many parameter passed to theano function")
        given = list(args) + [_NOTHING] * (len(self._inputs) - len(args))
        for name, value in kwargs.items():
            at = [position for position, i in enumerate(self._inputs) if i.given.name == name]
            if len(at) != 1:
                raise TypeError(f"Unknown input or state: {name}" if not at else f"Ambiguous name: {name}")
            if given[at[0]] is not _NOTHING:
                raise TypeError(f"Multiple values for input: {name}")
            given[at[0]] = value
        return [x if x is _NOTHING else self._converted(position, x) for position, x in enumerate(given)]

    def _converted(self, position, value):
        if self.trust_input:
            if not isinstance(value, (numpy.ndarray, numpy.random.RandomState)):
                raise ValueError(f"trust_input is set, so that arguments are arrays already; argument {position} is "
                                 f"{value!r}")
            return value
        try:
            return self._inputs[position].converted(value)
        except (TypeError, ValueError) as error:
            name = f'with name "{self.name}" ' if self._arguments.get("name") else ""
            raise type(error)(f"Bad input argument to theano function {name}at index {position} (0-based). "
                              f"{error}") from None

    def _as_asked(self, outputs, subset):
        if self._names is not None:
            found = dict(zip(self._names, outputs))
            return found if subset is None else {key: found[key] for key in subset}
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
        """Takes over the values of another function of the same inputs: defaults as they are, states as copies."""
        for mine, theirs in zip(self._inputs, other._inputs):
            if mine.shared is None and mine.container is not theirs.container and not mine.required:
                value = theirs.container.value
                mine.container.storage[0] = mine.default = value if theirs.refeed else _copy(value)


def _copy(value):
    return state_of(words_of(value)) if isinstance(value, numpy.random.RandomState) else numpy.copy(value)
