"""Theano's ops that correspond to ops of Croton."""

from .graph import Apply
from .wrapping import as_variable

_UNKNOWN = object()  # a parameter of an op without known parameters


class CrotonOp:
    """An op of Theano that is an op of Croton, or an expression of several.

    A subclass lists the applications that are shown as its own (`shows`: the names of Croton's ops) and builds the
    result of a call (`build`). The result of a call has the called object as owner.op. For other applications owner.op
    is an object of the class without parameters: it equals each op of its class for the same op of Croton, and cannot
    be called.
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
        """Shows applications of Croton's ops with these names as this class."""
        CrotonOp._classes.update(dict.fromkeys(names, cls))

    @staticmethod
    def shown(name, inputs):
        """The op of an application of Croton's op with this name."""
        return CrotonOp._classes.get(name, CrotonOp).class_for(inputs).shown_as(name)

    @classmethod
    def shown_as(cls, name):
        """An op of the class without parameters."""
        op = cls.__new__(cls)
        op.croton_name = name
        return op

    @classmethod
    def class_for(cls, inputs):
        """The class that shows an application to these inputs: for ops of Croton that are several of Theano."""
        return cls

    def build(self, *inputs):
        """The expression of an application, or a list of them."""
        raise NotImplementedError(f"{self} cannot be applied")

    def __call__(self, *inputs, return_list=False, **kwargs):
        if self._props() is None:
            raise NotImplementedError(f"{self} cannot be applied: it shows an application of Croton's op "
                                      f"{self.croton_name}")
        result = self.build(*inputs, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        variables = [as_variable(x) for x in inputs if x is not None]
        if all(y.owner is not None and y not in variables for y in outputs):  # else nothing was applied
            Apply(self, variables, outputs).claim()
        if self.default_output is not None and not return_list:
            return outputs[self.default_output]
        return outputs if return_list or len(outputs) > 1 else outputs[0]

    def make_node(self, *inputs):
        """The application of the op to inputs."""
        outputs = self(*inputs, return_list=True)
        return outputs[0].owner or Apply(self, inputs, outputs)

    def _props(self):
        """The parameters, or None for an op without known parameters."""
        values = tuple(vars(self).get(name, _UNKNOWN) for name in self.__props__)
        return None if _UNKNOWN in values else values

    def __eq__(self, other):
        if type(self) is not type(other) or self.croton_name != other.croton_name:
            return False
        mine, theirs = self._props(), other._props()
        return mine is None or theirs is None or mine == theirs

    def __hash__(self):
        return hash((type(self), self.croton_name))  # without parameters, since they may be unknown

    def __str__(self):
        if type(self) is CrotonOp:
            return self.croton_name
        values = self._props()
        parameters = ", ".join(f"{n}={v!r}" for n, v in zip(self.__props__, values or ()))
        return f"{type(self).__name__}{{{parameters}}}" if parameters else type(self).__name__

    __repr__ = __str__
