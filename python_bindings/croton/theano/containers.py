"""What holds the values of a function's inputs and of shared variables between calls: container.value, .data and .storage[0]."""


class InputContainer:
    """The default of an input: what a call without it takes."""

    def __init__(self, given):
        self.storage = [given.value]
        self.readonly = False

    @property
    def value(self):
        return self.storage[0]

    @value.setter
    def value(self, new):
        self.storage[0] = new

    data = value


class StateContainer:
    """What holds the value of a shared variable."""

    readonly = False

    def __init__(self, state):
        self.state = state
        self.storage = _Storage(state)

    @property
    def value(self):
        return self.state.get_value(borrow=True)

    @value.setter
    def value(self, new):
        self.state.set_value(new)

    data = value


class _Storage:
    """container.storage[0] of a state."""

    def __init__(self, state):
        self._state = state

    def __getitem__(self, index):
        return [self._state.get_value(borrow=True)][index]

    def __setitem__(self, index, value):
        self._state.set_value(value)

    def __len__(self):
        return 1


class Containers:
    """The containers of a function's inputs, by name, variable or In."""

    def __init__(self, f):
        self._found, self._twice = {}, set()
        inputs, _, updates = f._fgraph_parts
        for i in inputs:
            state = getattr(i, "_state", None)
            self._add(StateContainer(state) if state is not None else InputContainer(i), i.name, i.variable, i, state)
        for x in [x for x in f.get_shared() if x not in self._found]:
            self._add(StateContainer(x), x.name, x)

    def _add(self, container, name, *keys):
        if name in self._found:
            self._twice.add(name)
        for key in (name, *keys):
            if key is not None:
                self._found.setdefault(key, container)

    def __getitem__(self, key):
        if key in self._twice:
            raise TypeError(f"Ambiguous name: {key} - please check the names of the inputs of your function for "
                            "duplicates.")
        if key not in self._found:
            raise KeyError(f"Unknown input or state: {key}")
        return self._found[key]

    def __contains__(self, key):
        return key in self._found

    def __len__(self):
        return len({id(c) for c in self._found.values()})


class Values:
    """f.value[x]: the value in the container of x."""

    def __init__(self, containers):
        self._containers = containers

    def __getitem__(self, key):
        return self._containers[key].value

    def __setitem__(self, key, value):
        self._containers[key].value = value

    def __contains__(self, key):
        return key in self._containers
