"""Graphs as Theano shows them: variables, the applications that made them, and the ops that were applied."""

from croton import _croton


class scratchpad:
    """A place for attributes of anybody's: x.tag.test_value."""

    def clear(self):
        self.__dict__.clear()

    def __update__(self, other):
        self.__dict__.update(other.__dict__)

    def __repr__(self):
        return f"scratchpad{self.__dict__}"


class Apply:
    """An op applied to inputs: `x.owner` of what it gave."""

    def __init__(self, op, inputs, outputs):
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.tag = scratchpad()
        for i, output in enumerate(self.outputs):
            if getattr(output, "_own", None) is None and hasattr(output, "_claim"):
                output._claim(self, i)

    @property
    def out(self):
        return self.default_output()

    def default_output(self):
        """The only output, or that which op.default_output says; AttributeError where there are several."""
        which = getattr(self.op, "default_output", None)
        if which is not None:
            return self.outputs[which]
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


class CrotonOp:
    """One of Croton's own ops, as owner.op shows it. Ops of one name are equal."""

    view_map = {}
    destroy_map = {}

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return type(self) is type(other) and self.name == other.name

    def __hash__(self):
        return hash((CrotonOp, self.name))

    def __str__(self):
        return self.name

    __repr__ = __str__


def applied(variable):
    """The application that made one of Croton's variables, or None."""
    from .variables import wrap
    made = _croton.application(variable._croton)
    if made is None:
        return None
    name, inputs = made
    return Apply(CrotonOp(name), [wrap(x) for x in inputs], [variable])


def ancestors(variables, blockers=None):
    """All variables that these depend on and themselves, each once; nothing behind a blocker."""
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
    """The variables of `ancestors` that nothing made: inputs, constants and shared variables."""
    return [x for x in ancestors(variables, blockers) if x.owner is None]


def list_of_nodes(inputs, outputs):
    """All applications between inputs and outputs."""
    return [x.owner for x in ancestors(outputs, inputs) if x.owner is not None]


def variables(inputs, outputs):
    """All variables between inputs and outputs."""
    return ancestors(outputs, inputs)


def orphans(inputs, outputs):
    """The variables that nothing made, and that are not among the inputs."""
    given = set(inputs)
    return [x for x in ancestors(outputs, inputs) if x.owner is None and x not in given]


def io_toposort(inputs, outputs):
    """The applications between inputs and outputs, each behind those that it needs."""
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


def is_same_graph(var1, var2, givens=None):
    """Whether both compute the same, with variables replaced as givens say."""
    from .gradients import clone
    if givens:
        var1, var2 = clone([var1, var2], givens)
    return _croton.equal_computations([var1._croton], [var2._croton])


def equal_computations(xs, ys, in_xs=None, in_ys=None):
    """Whether both lists compute the same; inputs of the two lists count as the same by their positions."""
    from .variables import unwrap
    return _croton.equal_computations(unwrap(list(xs)), unwrap(list(ys)), unwrap(list(in_xs or [])),
                                      unwrap(list(in_ys or [])))
