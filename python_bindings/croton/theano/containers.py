"""Containers of the values of a function's inputs and states between calls: f.container[x], f.value[x], f[x]."""

_AMBIGUOUS = object()


class Container:
    """The value of an input: `storage` is a list with the value as its only element, `value` and `data` are that
    element.

    Functions that share a container share the state. A value is converted as an argument is: TypeError for an invalid
    one.
    """

    readonly = False

    def __init__(self, type, value=None, strict=False, allow_downcast=None, name=None):
        self.type, self.strict, self.allow_downcast, self.name = type, strict, allow_downcast, name
        self.storage = [None]
        self.value = value

    @property
    def value(self):
        return self.storage[0]

    @value.setter
    def value(self, new):
        self.storage[0] = None if new is None else self.converted(new)

    data = value

    def converted(self, value):
        return self.type.filter(value, self.strict, self.allow_downcast)


class SharedContainer:
    """The value of a shared variable as a container; there is one for each variable."""

    readonly = False

    def __init__(self, variable):
        self._variable = variable
        self.storage = _SharedStorage(variable)

    type = property(lambda self: self._variable.type)
    name = property(lambda self: self._variable.name)

    @property
    def value(self):
        return self._variable.get_value(borrow=True)

    @value.setter
    def value(self, new):
        self._variable.set_value(new)

    data = value

    def __reduce__(self):
        return _container_of, (self._variable,)


def _container_of(variable):
    return variable.container


class _SharedStorage:
    """container.storage of a shared variable: storage[0] reads and sets its value."""

    def __init__(self, variable):
        self._variable = variable

    def __getitem__(self, index):
        return [self._variable.get_value(borrow=True)][index]

    def __setitem__(self, index, value):
        assert index in (0, -1)
        self._variable.set_value(value)

    def __len__(self):
        return 1


class Containers:
    """f.container: the containers of a function's inputs, by position, variable or name, and of its shared variables,
    by variable or name. KeyError for an unknown key, TypeError for an ambiguous name."""

    def __init__(self, inputs, containers, shared):
        self._found = {}
        for position, (x, container) in enumerate(zip(inputs, containers)):
            self._found[position] = self._found[x.variable] = self._found[x] = container
            self._name(x.name, container)
        for x in shared:
            self._found.setdefault(x, x.container)
            if x.name not in self._found:
                self._name(x.name, x.container)

    def _name(self, name, container):
        if name is not None:
            self._found[name] = _AMBIGUOUS if name in self._found else container

    def __getitem__(self, key):
        try:
            found = self._found[key]
        except KeyError:
            raise KeyError(f"Unknown input or state: {key}") from None
        if found is _AMBIGUOUS:
            raise TypeError(f"Ambiguous name: {key} - please check the names of the inputs of your function for "
                            "duplicates.")
        return found

    def __contains__(self, key):
        return key in self._found

    def __len__(self):
        return len({id(c) for c in self._found.values()})


class Values:
    """f.value[x]: the value in the container of x. TypeError for an unknown x."""

    def __init__(self, containers):
        self._containers = containers

    def _container(self, key):
        try:
            return self._containers[key]
        except KeyError as error:
            raise TypeError(error.args[0]) from None

    def __getitem__(self, key):
        return self._container(key).value

    def __setitem__(self, key, value):
        self._container(key).value = value

    def __contains__(self, key):
        return key in self._containers
