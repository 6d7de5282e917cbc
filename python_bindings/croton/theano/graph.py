"""Graphs as Theano shows them: variables, the applications that made them, and the ops that were applied."""

from croton import _croton

_UNKNOWN = object()  # a parameter of an op that is only shown


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
        compute = getattr(op, "_compute_outputs", None)  # of an op written in Python
        if compute is not None:
            compute(self)

    def claim(self):
        """Makes this the application that has made its outputs, also those that another one has made."""
        for i, output in enumerate(self.outputs):
            output._claim(self, i)

    @property
    def out(self):
        return self.default_output()

    def default_output(self):
        """The only output, or that which op.default_output says; AttributeError where there are several."""
        which = getattr(self.op, "default_output", None)
        if which is not None:
            if not isinstance(which, int) or not 0 <= which < len(self.outputs):
                raise AttributeError(f"{self.op}.default_output should be an output index, not {which!r}")
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
    """An op of Theano's that is an op of Croton's, or an expression of several.

    A subclass says which applications are shown as its own (`shows`: the names of Croton's ops), and what a call of an
    object of it gives (`build`). What a call gave has that object as owner.op. For what was made otherwise owner.op is
    an object of the class without parameters: it is equal to each op of its class for the same of Croton's ops, and
    calling it is an error.
    """

    __props__ = ()
    view_map = {}
    destroy_map = {}
    default_output = None
    croton_name = None
    _classes = {}

    def __init_subclass__(cls, shows=(), **kwargs):
        super().__init_subclass__(**kwargs)
        if shows:
            cls.croton_name = shows[0]
        cls.show(*shows)

    @classmethod
    def show(cls, *names):
        """Shows applications of Croton's ops of these names as this class."""
        CrotonOp._classes.update(dict.fromkeys(names, cls))

    @staticmethod
    def shown(name, inputs):
        """The op of an application of Croton's op of this name."""
        return CrotonOp._classes.get(name, CrotonOp).class_for(inputs).shown_as(name)

    @classmethod
    def shown_as(cls, name):
        """An op of the class without parameters."""
        op = cls.__new__(cls)
        op.croton_name = name
        return op

    @classmethod
    def class_for(cls, inputs):
        """Which class shows an application to these inputs: for ops of Croton's that are several of Theano's."""
        return cls

    def build(self, *inputs):
        """The expression of an application, or a list of them."""
        raise NotImplementedError(f"{self} cannot be applied")

    def __call__(self, *inputs, return_list=False, **kwargs):
        from .variables import as_variable
        if self._props() is None:
            raise NotImplementedError(f"{self} cannot be applied: it shows what Croton's op {self.croton_name} has made")
        made = self.build(*inputs, **kwargs)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        given = [as_variable(x) for x in inputs if x is not None]
        if all(y.owner is not None and y not in given for y in outputs):  # else nothing was applied
            Apply(self, given, outputs).claim()
        if self.default_output is not None and not return_list:
            return outputs[self.default_output]
        return outputs if return_list or len(outputs) > 1 else outputs[0]

    def make_node(self, *inputs):
        """The application of the op to inputs."""
        outputs = self(*inputs, return_list=True)
        return outputs[0].owner or Apply(self, inputs, outputs)

    def _props(self):
        """The parameters, or None for an op that was made to be shown."""
        found = tuple(vars(self).get(name, _UNKNOWN) for name in self.__props__)
        return None if _UNKNOWN in found else found

    def __eq__(self, other):
        if type(self) is not type(other) or self.croton_name != other.croton_name:
            return False
        mine, theirs = self._props(), other._props()
        return mine is None or theirs is None or mine == theirs

    def __hash__(self):
        return hash((type(self), self.croton_name))  # no parameters: an op that is shown has none

    def __str__(self):
        if type(self) is CrotonOp:
            return self.croton_name
        values = self._props()
        given = ", ".join(f"{n}={v!r}" for n, v in zip(self.__props__, values or ()))
        return f"{type(self).__name__}{{{given}}}" if given else type(self).__name__

    __repr__ = __str__


def applied(variable):
    """The application that made one of Croton's variables, or None."""
    from .variables import wrap
    made = _croton.application(variable._croton)
    if made is None:
        return None
    name, inputs = made[0], wrap(made[1], variable._operands)
    return Apply(CrotonOp.shown(name, inputs), inputs, [variable])


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
