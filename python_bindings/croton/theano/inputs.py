"""Inputs and outputs of theano.function: In, Out, and their older names."""

from .containers import Container, SharedContainer
from .sharing import SharedVariable
from .wrapping import as_variable


class SymbolicInput:
    """An input of a function, with options.

    name: the keyword in calls. update: the expression of its value after each call. mutable, borrow: the function may
    write to the array. strict: no conversion at all. autoname: the name defaults to the variable's.
    """

    def __init__(self, variable, name=None, update=None, mutable=None, strict=False, allow_downcast=None, autoname=True,
                 implicit=False):
        assert implicit is not None
        self.variable = variable
        self.name = variable.name if autoname and name is None else name
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"name must be a string! (got: {self.name})")
        self.update = None if update is None else as_variable(update)
        if self.update is not None and self.update.type != variable.type:
            raise TypeError(f"Variable '{variable}' has type {variable.type} but an update of type {self.update.type}")
        self.mutable = update is not None if mutable is None else mutable
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = implicit

    def __str__(self):
        return f"In({self.variable} -> {self.update})" if self.update is not None else f"In({self.variable})"

    __repr__ = __str__


class In(SymbolicInput):
    """An input of a function, with options. value: its default, an array, or a shared variable or container with its
    value. implicit: calls cannot set it; by default True for shared variables and containers."""

    def __init__(self, variable, name=None, value=None, update=None, mutable=None, strict=False, allow_downcast=None,
                 autoname=True, implicit=None, borrow=None, shared=False):
        borrow = bool(mutable) if borrow is None else borrow
        if mutable and not borrow:
            raise AssertionError(f"Symbolic input for variable {variable} (name={name}) has flags mutable=True, "
                                 "borrow=False. This combination is incompatible since mutable=True implies that the "
                                 "input variable may be both aliased (borrow=True) and overwritten.")
        if isinstance(value, SharedVariable):
            value = value.container
        if implicit is None:  # a container that is passed belongs to other code
            implicit = isinstance(value, (Container, SharedContainer))
        super().__init__(variable, name, update, mutable, strict, allow_downcast, autoname, bool(implicit))
        self.borrow = borrow
        self.value = value
        self.shared = shared


def Param(variable, default=None, name=None, mutable=False, strict=False, allow_downcast=None, implicit=None,
          borrow=None):
    """In under its older name."""
    return In(variable, name, default, None, mutable or None, strict, allow_downcast, True, implicit, borrow)


class SymbolicOutput:
    """An output of a function. borrow: the array may share memory with the function's own."""

    def __init__(self, variable, borrow=False):
        self.variable = variable
        self.borrow = borrow

    def __str__(self):
        return f"Out({self.variable},{self.borrow})"

    __repr__ = __str__


Out = SymbolicOutput
