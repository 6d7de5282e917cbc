"""Theano's graphs: variables, the applications of ops that compute them, and walks over both."""

import itertools

_numbers = itertools.count()


class scratchpad:
    """An object for arbitrary attributes: x.tag.test_value."""

    def clear(self):
        self.__dict__.clear()

    def __update__(self, other):
        self.__dict__.update(other.__dict__)

    def __repr__(self):
        return f"scratchpad{self.__dict__}"


class Variable:
    """Base of all variables: a node of a graph with a type, a name, the application that computes it, and a tag."""

    _operands = ()  # the variables that it keeps alive

    def __init__(self, variable):
        self._croton = variable
        self._owner = None  # an Apply of a Python op; else it is looked up
        self.tag = scratchpad()

    def _claim(self, apply, index):
        self._owner = apply
        self._index = index

    @property
    def owner(self):
        """The application that computes it (owner.op, owner.inputs), or None."""
        if self._owner is None:
            self._owner = self._applied() or False
        return self._owner or None

    @owner.setter
    def owner(self, value):
        self._owner = value or False

    def _applied(self):
        """The application that computes it, if none has claimed it."""
        return None

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
        """A variable of the same type and name, without an owner."""
        copy = self.type()
        copy.name = self.name
        copy.tag.__dict__.update(self.tag.__dict__)
        return copy

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

    def __copy__(self):
        return self


class Apply:
    """An op applied to inputs: `x.owner` of its outputs."""

    def __init__(self, op, inputs, outputs):
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.tag = scratchpad()
        for i, output in enumerate(self.outputs):
            if getattr(output, "_owner", None) is None and hasattr(output, "_claim"):
                output._claim(self, i)
        compute = getattr(op, "_compute_outputs", None)  # of an op written in Python
        if compute is not None:
            compute(self)

    def claim(self):
        """Makes this the owner of its outputs, also of those that have another one."""
        for i, output in enumerate(self.outputs):
            output._claim(self, i)

    @property
    def out(self):
        return self.default_output()

    def default_output(self):
        """The only output, or that of op.default_output; AttributeError if there are several and no default."""
        index = getattr(self.op, "default_output", None)
        if index is not None:
            if not isinstance(index, int) or not 0 <= index < len(self.outputs):
                raise AttributeError(f"{self.op}.default_output should be an output index, not {index!r}")
            return self.outputs[index]
        if len(self.outputs) != 1:
            raise AttributeError(f"{self.op}.default_output should be an output index.")
        return self.outputs[0]

    @property
    def nin(self):
        return len(self.inputs)

    @property
    def nout(self):
        return len(self.outputs)

    def __str__(self):
        return f"{self.op}({', '.join(str(x) for x in self.inputs)})"

    __repr__ = __str__


def ancestors(variables, blockers=None):
    """These variables and all that they depend on, each once; the search does not go beyond blockers."""
    stop = set(blockers or [])
    seen, order, pending = set(), [], list(variables)[::-1]
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        order.append(x)
        if x.owner is not None and x not in stop:
            pending.extend(x.owner.inputs[::-1])
    return order


def inputs(variables, blockers=None):
    """The variables of `ancestors` without an owner: inputs, constants and shared variables."""
    return [x for x in ancestors(variables, blockers) if x.owner is None]


def list_of_nodes(inputs, outputs):
    """All applications between inputs and outputs."""
    return [x.owner for x in ancestors(outputs, inputs) if x.owner is not None]


def variables(inputs, outputs):
    """All variables between inputs and outputs."""
    return ancestors(outputs, inputs)


def orphans(inputs, outputs):
    """The variables without an owner that are not among the inputs."""
    known = set(inputs)
    return [x for x in ancestors(outputs, inputs) if x.owner is None and x not in known]


def io_toposort(inputs, outputs):
    """The applications between inputs and outputs in topological order."""
    order, seen = [], set()
    pending = [(x, False) for x in list(outputs)[::-1]]
    stop = set(inputs)
    while pending:
        x, ready = pending.pop()
        if ready:
            order.append(x.owner)
            continue
        if x in seen or x in stop or x.owner is None:
            continue
        seen.add(x)
        pending.append((x, True))
        pending.extend((i, False) for i in x.owner.inputs[::-1])
    return order
