"""Lazy branches."""

from croton import _croton

from .tensor.elementwise import cast
from .tensor.shapes import patternbroadcast
from .variables import TensorConstant
from .wrapping import as_variable, unwrap, wrap


def ifelse(condition, then_branch, else_branch, name=None):
    """then_branch if the condition, a scalar, is not 0, else else_branch: variables, or lists of the same length. Only
    the selected branch is computed. TypeError if the types differ."""
    several = isinstance(then_branch, (list, tuple))
    then_list = list(then_branch) if several else [then_branch]
    else_list = list(else_branch) if isinstance(else_branch, (list, tuple)) else [else_branch]
    if len(then_list) != len(else_list):
        raise ValueError("The number of values on the `then` branch should have the same number of variables as the "
                         f"`else` branch : (variables on `then` {len(then_list)}, variables on `else` "
                         f"{len(else_list)})")
    condition = as_variable(condition)
    if condition.ndim != 0:
        raise TypeError("Condition given to the op has to be a scalar with 0 standing for False, anything else for "
                        "True")
    pairs = [_same(as_variable(a), as_variable(b)) for a, b in zip(then_list, else_list)]
    results = wrap(list(_croton.ifelse(unwrap(condition), [unwrap(a) for a, _ in pairs],
                                       [unwrap(b) for _, b in pairs])))
    for r in results:
        if name and r.name is None:
            r.name = name
    if not several:
        return results[0]
    return tuple(results) if isinstance(then_branch, tuple) else results


def _same(a, b):
    """Both variables with one type: constants get the other's dtype, and an axis broadcasts only if it does in both."""
    if a.ndim != b.ndim:
        raise TypeError(f"IfElse requires same types for true and false return values: {a} of {a.type}, {b} of "
                        f"{b.type}")
    if a.dtype != b.dtype:
        if isinstance(a, TensorConstant) and (a + b).dtype == b.dtype:
            a = cast(a, b.dtype)
        elif isinstance(b, TensorConstant) and (a + b).dtype == a.dtype:
            b = cast(b, a.dtype)
        else:
            raise TypeError(f"IfElse requires same types for true and false return values: {a} of {a.type}, {b} of "
                            f"{b.type}")
    if a.broadcastable != b.broadcastable:
        both = [x and y for x, y in zip(a.broadcastable, b.broadcastable)]
        a, b = patternbroadcast(a, both), patternbroadcast(b, both)
    return a, b


__all__ = ["ifelse"]
