"""Copies of compiled functions: they are compiled again from arguments in which variables are replaced, all at once, so
that equal variables stay equal."""

import copy

from . import graph
from .cloning import clone
from .graph import Variable
from .inputs import SymbolicInput, SymbolicOutput
from .sharing import SharedVariable
from .wrapping import as_variable

_WITH_VARIABLES = ("inputs", "outputs", "updates", "givens", "no_default_updates")


def replaced(arguments, replace, kind=Variable):
    """The arguments of theano.function with replace(v) for each variable v in them, or for each object of another
    kind."""
    return {key: _replaced(value, replace, kind) if key in _WITH_VARIABLES else value
            for key, value in arguments.items()}


def _replaced(x, replace, kind):
    if isinstance(x, kind):
        return replace(x)
    if isinstance(x, (SymbolicInput, SymbolicOutput)):
        other = copy.copy(x)
        other.variable = replace(x.variable)
        if getattr(x, "update", None) is not None:
            other.update = replace(x.update)
        return other
    if isinstance(x, (list, tuple)):
        return type(x)(_replaced(item, replace, kind) for item in x)
    if isinstance(x, dict):
        return type(x)((_replaced(key, replace, kind), _replaced(value, replace, kind)) for key, value in x.items())
    return x


def variables_in(arguments):
    """All variables in the arguments, each once."""
    found = {}

    def collect(x):
        found[x] = None
        return x

    replaced(arguments, collect)
    return list(found)


def cloned(arguments, pairs):
    """The arguments with {old: new} replaced in all expressions."""
    found = variables_in(arguments)
    new = dict(zip(found, clone(found, pairs)))
    return replaced(arguments, new.__getitem__)


def deep_copied(arguments, memo):
    """A deep copy of the arguments, with copies of their inputs and shared variables."""
    found = variables_in(arguments)
    pairs = {x: copy.deepcopy(x, memo) for x in graph.inputs(found) if not hasattr(x, "data")}
    for old, new in zip(found, clone(found, pairs)):
        memo.setdefault(id(old), new)
    return copy.deepcopy(arguments, memo)


def as_copy(arguments, name):
    """The arguments of a copy: its outputs are a list, as in Theano, and inputs may be unused."""
    outputs = arguments["outputs"]
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in sorted(outputs)]
    elif outputs is not None and not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    old = arguments["name"]
    return {**arguments, "outputs": outputs, "on_unused_input": "ignore",
            "name": name if name is not None or not old else old + " copy"}


def without_updates(arguments):
    """The arguments without updates of shared variables and inputs."""
    inputs = [copy.copy(x) if isinstance(x, SymbolicInput) else x for x in arguments["inputs"]]
    for x in inputs:
        if isinstance(x, SymbolicInput):
            x.update = None
    inputs = [x[0] if _is_update(x) else x for x in inputs]
    return {**arguments, "inputs": inputs, "updates": None, "no_default_updates": True}


def _is_update(x):
    return isinstance(x, (list, tuple)) and len(x) == 2 and all(isinstance(item, Variable) for item in x)


def swapped(arguments, shared, swap):
    """The arguments with shared variables replaced: {shared or its name: shared}. ValueError for an unknown one,
    TypeError if the types differ."""
    by_name = {x.name: x for x in shared if x.name}
    pairs = {}
    for old, new in swap.items():
        if not isinstance(new, SharedVariable):
            raise TypeError(f"SharedVariable was expected in swap, not {new!r}")
        old = by_name.get(old, old)
        if old not in shared:
            raise ValueError(f"SharedVariable: {old} not found")
        if old.type != new.type:
            raise TypeError(f"Type mismatch: {old} of {old.type}, {new} of {new.type}")
        pairs[old] = new
    if arguments["updates"] is not None:
        items = arguments["updates"].items() if isinstance(arguments["updates"], dict) else arguments["updates"]
        arguments = {**arguments, "updates": [(target, as_variable(value)) for target, value in items]}
    return cloned(arguments, pairs)
