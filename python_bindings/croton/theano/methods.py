"""Methods of variables that need the whole package: their values, copies and pickles."""

import copy

from . import graph, pickling
from .cloning import clone
from .compiling import Function, function


def _eval(self, inputs_to_values=None):
    """The value, given the values of the inputs: {variable: value}. The compiled function is cached."""
    values = inputs_to_values or {}
    inputs = tuple(sorted(values, key=id))
    evaluators = self.__dict__.setdefault("_evaluators", {})
    if inputs not in evaluators:
        evaluators[inputs] = function(list(inputs), self, on_unused_input="raise")
    return evaluators[inputs](*[values[x] for x in inputs])


def _deepcopy(self, memo):
    """The same expression with copies of its inputs and shared variables; for an input, a copy."""
    if self.owner is None:
        return self.clone()
    return clone(self, {x: copy.deepcopy(x, memo) for x in graph.inputs([self]) if not hasattr(x, "data")})


def _reduce(self):
    return (pickling.reduce_input if self.owner is None else pickling.reduce_variable)(self)


graph.Variable.eval = _eval
graph.Variable.__deepcopy__ = _deepcopy
graph.Variable.__reduce__ = _reduce
Function.__reduce__ = pickling.reduce_function
