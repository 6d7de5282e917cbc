"""Gradients, Jacobians and Hessians, and functions that stop or change gradients."""

from croton import _croton

from . import types
from .croton_op import CrotonOp
from .graph import Variable
from .types import DisconnectedVariable, NullVariable
from .variables import TensorVariable
from .wrapping import as_variable, unwrap, wrap

DisconnectedInputError = _croton.DisconnectedInputError
NullTypeGradError = _croton.NullTypeGradError


def _list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _variables(x, what):
    for v in _list(x):
        if not isinstance(v, Variable):
            raise TypeError(f"{what}: {v!r} is not a symbolic variable")
    return unwrap(x)


def _name_gradients(results, cost, wrt):
    """Names gradients (dcost/dx), if both have names."""
    for g, x in zip(_list(results), _list(wrt)):
        if g is not None and g.name is None and cost is not None and cost.name and x.name and g.owner is not None:
            g.name = f"(d{cost.name}/d{x.name})"


def grad(cost, wrt, consider_constant=None, disconnected_inputs="raise", add_names=True, known_grads=None,
         return_disconnected="zero", null_gradients="raise"):
    """The gradient of a scalar cost with respect to a variable, or to each of a list.

    disconnected_inputs: for a variable that the cost does not depend on: "raise" (DisconnectedInputError), "warn" or
    "ignore"; its gradient is then that of return_disconnected: "zero", "None" or "Disconnected". known_grads: given
    gradients, {variable: gradient}; with these the cost may be None. consider_constant: variables that gradients do not
    flow through. TypeError for a cost that is not a real scalar.
    """
    if cost is None and not known_grads:
        raise AssertionError("cost and known_grads can't both be None.")
    if isinstance(getattr(cost, "type", None), types.NullType):
        raise ValueError(f"Can't differentiate a NaN cost. cost is NaN because {cost.type.why_null}")
    if isinstance(getattr(cost, "type", None), types.DisconnectedType):
        if disconnected_inputs == "raise":
            raise DisconnectedInputError("grad: the cost is disconnected: it depends on no variable")
        cost = as_variable(0.0)
    if cost is not None:
        cost = as_variable(cost)
        if cost.ndim != 0:
            raise TypeError("cost must be a scalar.")
        if cost.dtype.startswith("complex"):
            raise TypeError("cost must be real")
    for x in _list(wrt):
        if not isinstance(x, Variable):
            raise TypeError(f"Expected Variable, got {x} of type {type(x)}")
    if return_disconnected not in ("zero", "None", "Disconnected"):
        raise ValueError(f"'return_disconnected' is one of zero, None, Disconnected, not {return_disconnected!r}")
    if disconnected_inputs not in ("raise", "warn", "ignore"):
        raise ValueError("Invalid value for keyword 'disconnected_inputs', valid values are 'ignore', 'warn' and "
                         "'raise'.")
    known = {}
    for x, g in (known_grads or {}).items():
        if isinstance(g, NullVariable):
            raise NullTypeGradError(f"grad: the known gradient of {x} is not defined: {g.type.why_null}")
        if isinstance(g, DisconnectedVariable):
            if disconnected_inputs == "raise":
                raise DisconnectedInputError(f"grad: the known gradient of {x} is disconnected")
            g = 0.0
        g = as_variable(g)
        if g.ndim == 0 and x.ndim != 0:  # one for all elements
            g = wrap(_croton.fill(unwrap(x), g._croton))
        if g.ndim != x.ndim:
            raise TypeError(f"the known gradient of {x} has {g.ndim} dimensions, not {x.ndim}")
        known[unwrap(x)] = unwrap(g)
    if cost is not None and not cost.dtype.startswith("float"):
        # An integer cost has the gradient 0 by variables that it depends on, and 1 by itself.
        if not isinstance(wrt, (list, tuple)) and wrt is cost:
            return _with_dependencies([wrap(_croton.ones_like(_croton.cast(cost._croton, "floatX")))], [cost])[0]
        cost = wrap(_croton.zero_grad(_croton.cast(cost._croton, "floatX")))
    arguments = [unwrap(cost), unwrap(_list(wrt)), unwrap(consider_constant), disconnected_inputs, add_names, known]
    results = wrap(_croton.grad(*arguments, return_disconnected, null_gradients))
    if null_gradients == "return" and any(g is None for g in results):
        connected = _croton.grad(*arguments, "zero", null_gradients)  # None for undefined gradients
        results = [_null(cost, x) if g0 is None else g for x, g, g0 in zip(_list(wrt), results, connected)]
    # In Theano a gradient depends on all variables that the cost depends on, even if it is 0 or 1.
    _with_dependencies(results, [cost, *_list(wrt), *(known_grads or {})])
    if return_disconnected == "Disconnected":
        results = [types.DisconnectedType()() if g is None else g for g in results]
    if add_names:
        _name_gradients(results, cost, wrt)
    if isinstance(wrt, (list, tuple)):
        return type(wrt)(results)
    return results[0]


def _with_dependencies(results, inputs):
    """The results, marked as depending on the inputs, though they may be constants."""
    for g in results:
        if isinstance(g, TensorVariable):
            g._depends_on = [x for x in inputs if isinstance(x, Variable)]
    return results


def _null(cost, x):
    return NullVariable(types.NullType(f"the gradient of {cost} by {x} is not defined"))


def Lop(f, wrt, eval_points, consider_constant=None, disconnected_inputs="raise"):
    """The product of the eval points, from the left, with the Jacobian of f."""
    results = _croton.Lop(unwrap(_list(f)), unwrap(_list(wrt)), [unwrap(as_variable(p)) for p in _list(eval_points)],
                          unwrap(consider_constant), disconnected_inputs)
    return _like(results, wrt)


def Rop(f, wrt, eval_points, disconnected_outputs="raise", return_disconnected="zero"):
    """The product of the Jacobian of f with the eval points, from the right."""
    points = [None if p is None else unwrap(as_variable(p)) for p in _list(eval_points)]
    if len(points) != len(_list(wrt)):
        raise ValueError("Rop: as many eval_points as variables in wrt are needed")
    for x, p in zip(_list(wrt), points):
        if p is not None and p.ndim != x.ndim:
            raise ValueError(f"Element of wrt {x} and its eval_point have different numbers of dimensions: {x.ndim} "
                             f"and {p.ndim}")
    for y in _list(f):
        if isinstance(y, TensorVariable) and y.dtype.startswith(("bool", "int", "uint")):
            raise ValueError(f"Rop: {y} of type {y.type} has no derivatives: compute it in floats")
    try:
        results = _croton.Rop(unwrap(_list(f)), unwrap(_list(wrt)), points, disconnected_outputs)
    except NullTypeGradError as error:
        raise ValueError(f"Rop: an op between wrt and f has no R_op: {error}") from error
    return _like(_with_dependencies(wrap(results), [*_list(f), *_list(wrt), *_list(eval_points)]), f)


def _like(results, argument):
    """The results in the form of the argument: a list, a tuple or a variable."""
    results = wrap(results)
    if isinstance(argument, (list, tuple)):
        return type(argument)(results)
    return results[0]


def jacobian(expression, wrt, consider_constant=None, disconnected_inputs="raise"):
    """The Jacobian of a vector by each variable."""
    expression = as_variable(expression)
    if expression.ndim > 1:
        raise ValueError("jacobian expects a vector variable as `expression`. If not use flatten to make it a vector")
    result = _croton.jacobian(unwrap(expression), unwrap(_list(wrt)), unwrap(consider_constant), disconnected_inputs)
    return _like(_with_dependencies(wrap(result), [expression, *_list(wrt)]), wrt)


def hessian(cost, wrt, consider_constant=None, disconnected_inputs="raise"):
    """The Hessian of a scalar cost by each vector alone."""
    if cost.ndim != 0:
        raise AssertionError("cost should be a scalar")
    for x in _list(wrt):
        if x.ndim != 1:
            raise AssertionError(f"hessian expects a (list of) 1 dimensional variable as `wrt`; {x} has {x.ndim}")
    return _like(_croton.hessian(unwrap(cost), unwrap(_list(wrt)), unwrap(consider_constant), disconnected_inputs),
                 wrt)


def hessian_vector_product(cost, wrt, p, **grad_kwargs):
    """The products of the Hessian with vectors, computed without the Hessian."""
    return _like(_croton.hessian_times_vector(unwrap(cost), unwrap(_list(wrt)), unwrap(_list(p)), **grad_kwargs), wrt)


def subgraph_grad(wrt, end, start=None, cost=None, details=False):
    """The gradients of a part of an expression with respect to wrt and to end, the inputs of the part."""
    at_wrt, at_end = _croton.subgraph_grad(unwrap(wrt), unwrap(end), unwrap(start), unwrap(cost))
    return wrap(list(at_wrt)), wrap(list(at_end))


def disconnected_grad(x):
    """x; gradients do not flow through it, and variables only reached through it are disconnected."""
    return wrap(_croton.disconnected_grad(unwrap(as_variable(x))))


def zero_grad(x):
    """x, whose gradient is 0."""
    return wrap(_croton.zero_grad(unwrap(as_variable(x))))


consider_constant = zero_grad


def undefined_grad(x):
    """x; a gradient through it raises NullTypeGradError."""
    return wrap(_croton.undefined_grad(unwrap(as_variable(x)), ""))


def grad_clip(x, lower_bound, upper_bound):
    """x; the gradient that flows back through it is clipped to the bounds."""
    return wrap(_croton.grad_clip(unwrap(as_variable(x)), float(lower_bound), float(upper_bound)))


def grad_scale(x, multiplier):
    """x; the gradient that flows back through it is multiplied by the number."""
    return wrap(_croton.grad_scale(unwrap(as_variable(x)), float(multiplier)))


def _mark(name, function, *parameters):
    """Theano's op class of one of these functions; Croton's graphs have no node of it."""
    def __init__(self, *values):
        vars(self).update(zip(parameters, values, strict=True))

    def build(self, x):
        return function(x, *(getattr(self, p) for p in parameters))

    return type(name, (CrotonOp,), {"__init__": __init__, "build": build, "__props__": parameters,
                                    "__module__": __name__,
                                    "__doc__": f"{name}({', '.join(parameters)})(x): {function.__doc__}"})


ConsiderConstant, ZeroGrad = _mark("ConsiderConstant", consider_constant), _mark("ZeroGrad", zero_grad)
DisconnectedGrad, UndefinedGrad = _mark("DisconnectedGrad", disconnected_grad), _mark("UndefinedGrad", undefined_grad)
GradClip = _mark("GradClip", grad_clip, "clip_lower_bound", "clip_upper_bound")
GradScale = _mark("GradScale", grad_scale, "multiplier")
consider_constant_, zero_grad_ = ConsiderConstant(), ZeroGrad()
disconnected_grad_, undefined_grad_ = DisconnectedGrad(), UndefinedGrad()


def grad_not_implemented(op, x_pos, x, comment=""):
    """The result of an op's grad for an input whose gradient is not implemented."""
    return NullVariable(types.NullType(f"This variable is Null because the grad method for input {x_pos} ({x}) of the "
                                       f"{op} op is not implemented. {comment}"))


def grad_undefined(op, x_pos, x, comment=""):
    """The result of an op's grad for an input by which it has no derivative."""
    return NullVariable(types.NullType(f"This variable is Null because the grad method for input {x_pos} ({x}) of the "
                                       f"{op} op is mathematically undefined. {comment}"))


def disconnected_type():
    return types.DisconnectedType()()


def format_as(use_list, use_tuple, outputs):
    """The outputs as a list, a tuple, or the only one of them."""
    assert not (use_list and use_tuple), "Both flags cannot be simultaneously True"
    if use_list or use_tuple:
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return list(outputs) if use_list else tuple(outputs)
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs
