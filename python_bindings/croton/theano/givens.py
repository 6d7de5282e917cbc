"""The givens of theano.function: replacements of variables."""

import copy

from croton import _croton

from . import graph
from .graph import Variable
from .inputs import In, SymbolicOutput
from .wrapping import unwrap, wrap


def pairs_of(givens, strict=True):
    """Pairs (variable, replacement) of the same type. TypeError for a replacement of another type, if strict."""
    pairs = []
    for item in (givens.items() if isinstance(givens, dict) else givens or []):
        old, new = item
        if isinstance(old, In):
            old = old.variable
        if not isinstance(old, Variable):
            raise TypeError(f"givens: {old!r} is not a variable")
        if not isinstance(new, Variable):
            new = wrap(_croton.constant(old.type.filter(new)))
        pairs.append((old, _of_type(old, new, strict)))
    return pairs


def _of_type(old, new, strict):
    if (old.dtype, old.ndim) == (new.dtype, new.ndim):
        wide = [axis for axis, size in enumerate(unwrap(old).sizes) if size is None]
        if all(size is None or size == unwrap(new).sizes[axis] for axis, size in enumerate(unwrap(old).sizes)):
            lost = [axis for axis in wide if unwrap(new).sizes[axis] is not None]
            return wrap(_croton.unbroadcast(unwrap(new), *lost)) if lost else new
    if not strict:
        return new
    raise TypeError(f"givens: Cannot convert Type {new.type} (of Variable {new}) into Type {old.type}. You can try to "
                    f"manually convert {new} into a {old.type}.")


def check(inputs, pairs):
    """RuntimeError if an input is replaced, ValueError if a variable is replaced twice."""
    variables = {i.variable for i in inputs}
    for old, _ in pairs:
        if old in variables:
            raise RuntimeError(f"You are trying to replace variable '{old}' through the `givens` parameter, but this "
                               "variable is an input to your function. Replacing inputs is currently forbidden because "
                               "it has no effect. One way to modify an input `x` to a function evaluating f(x) is to "
                               "define a new input `y` and use `theano.function([y], f(x), givens={x: g(y)})`.")
    seen = set()
    for old, _ in pairs:
        if old in seen:
            raise ValueError(f"givens replace {old} twice")
        seen.add(old)
    replaced = {old for old, _ in pairs}
    for old, new in pairs:
        if any(x in replaced and x is not old for x in graph.ancestors([new])) and new not in replaced:
            raise AssertionError(f"givens: the replacement of {old} depends on another variable that is replaced")


def must_be_cloned(pairs):
    """Whether the expressions must be built again: a replacement has another type, or depends on the variable that it
    replaces."""
    return any(unwrap(old).dtype != unwrap(new).dtype or unwrap(old).sizes != unwrap(new).sizes or
               old in graph.ancestors([new]) for old, new in pairs)


def applied(inputs, outputs, updates, pairs):
    """In and Out objects and updates with all variables replaced, once."""
    known = {unwrap(old): unwrap(new) for old, new in pairs}
    same_types = all((old.dtype, old.ndim) == (new.dtype, new.ndim) for old, new in known.items())

    def replaced(x):
        return wrap(_croton.clone(unwrap(x), known) if same_types else _rebuilt(unwrap(x), known))

    inputs, outputs = [copy.copy(i) for i in inputs], [SymbolicOutput(replaced(o.variable), o.borrow) for o in outputs]
    for i in inputs:
        i.update = None if i.update is None else replaced(i.update)
    return inputs, outputs, type(updates)((target, replaced(value)) for target, value in updates.items())


def _rebuilt(variable, known):
    """The variable with those in `known` replaced. Each op is applied again, so replacements may have another dtype or
    number of dimensions, if the ops accept that. TypeError for loops and the user's ops, which cannot be applied
    again."""
    pending = [variable]
    while pending:
        x = pending[-1]
        application = None if x in known else _croton.application(x, attributes=True)
        missing = [i for i in application[1] if i not in known] if application else []
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if x not in known:
            inputs = [known[i] for i in application[1]] if application else []
            known[x] = x
            if application and inputs != list(application[1]):
                known[x] = _croton.apply_again(application[0], inputs, application[2])
                known[x].name = x.name
    return known[variable]
