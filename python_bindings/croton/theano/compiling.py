"""theano.function: compiled functions with Theano's arguments, conversions and errors."""


from copy import deepcopy as _deepcopy

import numpy

from croton import _croton

from . import graph, modes
from .configuration import config
from .containers import Containers, StateContainer, Values
from .random_states import RandomStateType, shared_state, state_of
from .sharing import GenericSharedVariable, SharedVariable, TensorSharedVariable, shared
from .updates import OrderedUpdates
from .variables import Variable, as_variable, unwrap, wrap

UnusedInputError = _croton.UnusedInputError
MissingInputError = _croton.MissingInputError


class SymbolicInput:
    """An input with rules of its own.

    name: for calls by keyword. update: what its value becomes after each call. mutable, borrow: the function may write
    to the array. strict: no conversion at all. autoname: take the variable's name.
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
    """An input with rules of its own; value: its default, an array or a shared variable, which then is read."""

    def __init__(self, variable, name=None, value=None, update=None, mutable=None, strict=False, allow_downcast=None,
                 autoname=True, implicit=None, borrow=None, shared=False):
        borrow = bool(mutable) if borrow is None else borrow
        if mutable and not borrow:
            raise AssertionError(f"Symbolic input for variable {variable} (name={name}) has flags mutable=True, "
                                 "borrow=False. This combination is incompatible since mutable=True implies that the "
                                 "input variable may be both aliased (borrow=True) and overwritten.")
        if isinstance(value, SharedVariable):
            value = value.container
            implicit = True if implicit is None else implicit
        super().__init__(variable, name, update, mutable, strict, allow_downcast, autoname, bool(implicit))
        self.borrow = borrow
        self.value = value
        self.shared = shared


def Param(variable, default=None, name=None, mutable=False, strict=False, allow_downcast=None, implicit=None,
          borrow=None):
    """In by its older name."""
    return In(variable, name, default, None, mutable or None, strict, allow_downcast, True, implicit, borrow)


class SymbolicOutput:
    """An output; borrow: the array may share memory with the function's own."""

    def __init__(self, variable, borrow=False):
        self.variable = variable
        self.borrow = borrow

    def __str__(self):
        return f"Out({self.variable},{self.borrow})"

    __repr__ = __str__


Out = SymbolicOutput


class FunctionGraph:
    """A compiled function's graph for programs that look at it or count its nodes: as it was written."""

    def __init__(self, inputs, outputs, clone=True, features=None, update_mapping=None):
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.update_mapping = update_mapping or {}

    def toposort(self):
        return graph.io_toposort(self.inputs, self.outputs)

    @property
    def apply_nodes(self):
        return set(self.toposort())

    @property
    def variables(self):
        return set(graph.ancestors(self.outputs))


class FunctionMaker:
    """What a function was made of: f.maker."""

    def __init__(self, fgraph, inputs, outputs, mode):
        self.fgraph = fgraph
        self.inputs = inputs
        self.outputs = outputs
        self.mode = mode
        self.linker = mode.linker
        self.profile = None
        self.expanded_inputs = inputs


class Function(_croton.Function):
    """A compiled function: call it with values by position or by name. See `function`."""

    storage_map = {}

    def _describe(self, inputs, outputs, updates, mode, arguments, profile, names):
        self._arguments = arguments  # of `function`, to make it again: for copy and pickle
        self._output_names = names
        self.profile = profile
        self.trust_input = False
        self._fgraph_parts = (inputs, outputs, updates)
        self._mode = mode

    @property
    def maker(self):
        inputs, outputs, updates = self._fgraph_parts
        whole = FunctionGraph([i.variable for i in inputs] + self.get_shared(), outputs + list(updates.values()),
                              update_mapping=updates)
        return FunctionMaker(whole, inputs, outputs, self._mode)

    @property
    def fn(self):
        return self

    @property
    def unpack_single(self):
        return not isinstance(self._arguments["outputs"], (list, tuple, dict))

    @property
    def outputs(self):
        return self._fgraph_parts[1]

    def get_shared(self):
        """The shared variables that it reads or updates."""
        _, outputs, updates = self._fgraph_parts
        found = [x for x in graph.inputs(outputs + list(updates.values())) if isinstance(x, SharedVariable)]
        return found + [x for x in updates if x not in found]

    def free(self):
        """Nothing is to be freed: working memory is kept for all functions together."""

    def copy(self, share_memory=False, swap=None, delete_updates=False, name=None, profile=None):
        """Another function of the same code with its own working memory. swap: {shared: other one} (or names of
        inputs with new defaults), delete_updates: without updates. Other shared variables stay shared."""
        arguments = dict(self._arguments)
        if name is not None:
            arguments["name"] = name
        if delete_updates:
            arguments.update(updates=None, no_default_updates=True)
        if swap:
            arguments.update(_swapped(self, arguments, dict(swap)))
        return function(**arguments)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        """The same function of copies of its shared variables."""
        return self.copy(swap={x: _deepcopy(x, memo) for x in self.get_shared()})

    def __getitem__(self, item):
        """The value that an input (by name or variable) or state has between calls."""
        return self.container[item].value

    def __setitem__(self, item, value):
        self.container[item].value = value

    def __contains__(self, item):
        return item in self.container

    @property
    def value(self):
        return Values(self.container)

    @property
    def container(self):
        """What holds the values of inputs and states: container[x].value, .data, .storage."""
        if not hasattr(self, "_containers"):
            self._containers = Containers(self)
        return self._containers

    finder = container

    @property
    def defaults(self):
        return [(False, False, i.value) for i in self._fgraph_parts[0]]

    @property
    def _check_for_aliased_inputs(self):
        """Whether an argument might share memory with what a call updates: where inputs may be written to or kept."""
        inputs, _, updates = self._fgraph_parts
        return bool(updates) and any(i.mutable or getattr(i, "borrow", False) for i in inputs)

    def _explain(self, error, args, kwargs):
        """The error of a call as Theano words it: a value that an input does not take is a TypeError that says which."""
        if not isinstance(error, (TypeError, ValueError)):
            return error
        name = f'with name "{self._arguments["name"]}" ' if self._arguments.get("name") else ""
        plain = [i for i in self._fgraph_parts[0] if getattr(i, "_state", None) is None]
        for index, (i, value) in enumerate(zip(plain, args)):
            if isinstance(i.variable.type, RandomStateType):
                continue
            downcast = self._arguments["allow_input_downcast"] if i.allow_downcast is None else i.allow_downcast
            try:
                i.variable.type.filter(value, i.strict, downcast)
            except (TypeError, ValueError):
                return TypeError(f"Bad input argument to theano function {name}at index {index} (0-based). {error}")
        return error

    def __reduce__(self):
        from .pickling import reduce_function
        return reduce_function(self)

    def __str__(self):
        return f"<theano.compile.function_module.Function {self.name}>"


class _DictFunction(Function):
    """A function that gives a dict."""

    def __call__(self, *args, **kwargs):
        return dict(zip(self._output_names, super().__call__(*args, **kwargs)))


class _WritingFunction(Function):
    """A function whose results of functions of theano.tensor.inplace are written to the arrays that were given."""

    def __call__(self, *args, **kwargs):
        result = super().__call__(*args, **kwargs)
        several = isinstance(result, list)
        results = result if several else [result]
        for output, position in self._written:
            if position < len(args) and isinstance(args[position], numpy.ndarray) and args[position].flags.writeable and \
                    args[position].shape == results[output].shape and args[position].dtype == results[output].dtype:
                args[position][...] = results[output]
                results[output] = args[position]
        return results if several else results[0]


class _StatefulFunction(Function):
    """A function of inputs that have values of their own, which calls update."""

    def __call__(self, *args, output_subset=None, **kwargs):
        kept = []
        args = list(args)
        for position, i in enumerate(self._visible):
            state = getattr(i, "_state", None)
            if state is None:
                continue
            if position < len(args):
                value = args[position]
            elif i.name in kwargs:
                value = kwargs.pop(i.name)
            else:
                continue
            kept.append((state, value))
        for state, value in kept:
            state.set_value(value)
        plain = [i.variable.type.filter(value) if isinstance(i.variable.type, RandomStateType) else value
                 for value, i in zip(args, self._visible) if getattr(i, "_state", None) is None]
        result = super().__call__(*plain, **kwargs)
        types = [o.type for o in self._fgraph_parts[1]]
        if any(isinstance(t, RandomStateType) for t in types):
            several = isinstance(result, list)
            result = [state_of(r) if isinstance(t, RandomStateType) else r
                      for r, t in zip(result if several else [result], types)]
            result = result if several else result[0]
        return dict(zip(self._output_names, result)) if self._output_names is not None else result


def _swapped(f, arguments, swap):
    """Arguments of `function` with shared variables replaced."""
    pairs = {}
    shared_variables = f.get_shared()
    by_name = {x.name: x for x in shared_variables if x.name}
    for old, new in swap.items():
        if not isinstance(new, SharedVariable):
            raise TypeError(f"SharedVariable was expected in swap, not {new!r}")
        old = by_name.get(old, old)
        if old not in shared_variables:
            raise ValueError(f"SharedVariable: {old} not found")
        if old.type != new.type:
            raise TypeError(f"Type mismatch: {old} of {old.type}, {new} of {new.type}")
        pairs[old] = new
    old_updates = _update_pairs(arguments["updates"])
    from .gradients import clone
    values = clone([as_variable(value) for _, value in old_updates], pairs)
    updates = [(pairs.get(target, target), value) for (target, _), value in zip(old_updates, values)]
    named = isinstance(arguments["outputs"], dict)
    outputs = list(arguments["outputs"].values()) if named else arguments["outputs"]
    single = outputs is not None and not isinstance(outputs, (list, tuple))
    plain = [o.variable if isinstance(o, Out) else as_variable(o) for o in
             ([outputs] if single else outputs or [])]
    new = clone(plain, pairs)
    result = new[0] if single else dict(zip(arguments["outputs"], new)) if named else new
    return {"outputs": result, "updates": updates, "no_default_updates": arguments["no_default_updates"]}


def _update_pairs(updates):
    if updates is None:
        return []
    items = updates.items() if isinstance(updates, dict) else updates
    pairs = []
    for item in items:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise TypeError("updates is a dict {shared: expression} or a list of pairs (shared, expression)", item)
        pairs.append(tuple(item))
    return pairs


def _checked_updates(updates):
    """Updates, each with a value of the variable's type. TypeError and ValueError as Theano's."""
    checked = OrderedUpdates()
    for target, value in _update_pairs(updates):
        if not isinstance(target, SharedVariable):
            raise TypeError(f"update target must be a SharedVariable: {target!r}")
        if target in checked:
            raise ValueError(f"this shared variable already has an update expression: {target}", target, checked[target])
        if isinstance(value, Variable) or not isinstance(target, TensorSharedVariable):
            value = as_variable(value)
        else:
            value = wrap(_croton.constant(target.type.filter(value, allow_downcast=False)))
        checked[target] = _of_type(value, target)
    return checked


def _of_type(value, target):
    """The value of an update as the variable's type, without changing its dtype or rank."""
    if isinstance(target.type, RandomStateType):
        return value
    if value.dtype == target.dtype and value.ndim == target.ndim and all(
            b or not a for a, b in zip(target.broadcastable, value.broadcastable)):
        lost = [axis for axis, (a, b) in enumerate(zip(target.broadcastable, value.broadcastable)) if b and not a]
        if not lost:
            return value
    dtypes = ""
    if value.dtype != target.dtype and value.ndim == target.ndim:
        dtypes = (f" The update is {value.dtype}, the variable {target.dtype}: set floatX={target.dtype}, or cast the "
                  f"update by .astype('{target.dtype}').")
    raise TypeError(f"An update must have the same type as the original shared variable (shared_var={target}, "
                    f"shared_var.type={target.type}, update_val={value}, update_val.type={value.type}). If the "
                    "difference is related to the broadcast pattern, you can call the tensor.unbroadcast(var, "
                    "axis_to_unbroadcast[, ...]) function to remove broadcastable dimensions." + dtypes)


def _given_pairs(givens):
    pairs = []
    for item in (givens.items() if isinstance(givens, dict) else givens or []):
        old, new = item
        if isinstance(old, In):
            old = old.variable
        if not isinstance(old, Variable):
            raise TypeError(f"givens: {old!r} is no variable")
        if not isinstance(new, Variable):
            new = wrap(_croton.constant(old.type.filter(new)))
        pairs.append((old, _given_type(old, new)))
    return pairs


def _given_type(old, new):
    if old.type == new.type or (old.dtype, old.broadcastable) == (new.dtype, new.broadcastable):
        return new
    if old.dtype == new.dtype and old.ndim == new.ndim:
        gained = [a for a, (x, y) in enumerate(zip(old.broadcastable, new.broadcastable)) if x and not y]
        lost = [a for a, (x, y) in enumerate(zip(old.broadcastable, new.broadcastable)) if y and not x]
        if not gained:
            return wrap(_croton.unbroadcast(unwrap(new), *lost))
    raise TypeError(f"givens: Cannot convert Type {new.type} (of Variable {new}) into Type {old.type}. You can try to "
                    f"manually convert {new} into a {old.type}.")


def _as_input(x):
    if isinstance(x, SymbolicInput) and isinstance(x.variable, SharedVariable):
        x = x.variable
    if isinstance(x, SymbolicInput):
        return x if isinstance(x, In) else In(x.variable, x.name)
    if isinstance(x, GenericSharedVariable) or isinstance(x, SharedVariable):
        raise TypeError(f"Cannot use a shared variable ({x}) as explicit input. Consider substituting a non-shared "
                        "variable via the `givens` parameter")
    if isinstance(x, Variable):
        return In(x)
    if isinstance(x, (list, tuple)):
        if len(x) == 2 and isinstance(x[0], Variable) and isinstance(x[1], Variable):
            return In(x[0], update=x[1], mutable=True)
        if len(x) == 2 and isinstance(x[0], str) and isinstance(x[1], Variable):
            return In(x[1], name=x[0])
        if len(x) == 2 and isinstance(x[0], Variable):
            return In(x[0], value=x[1])
        if len(x) == 3 and isinstance(x[0], str) and isinstance(x[1], Variable):
            return In(x[1], name=x[0], value=x[2])
    raise TypeError(f"Unknown parameter type: {type(x)}: inputs are variables or In objects, not {x!r}")


def _as_output(x, number, count):
    if isinstance(x, SymbolicOutput):
        return x
    if isinstance(x, Variable):
        return Out(x)
    if isinstance(x, numpy.ndarray):
        raise TypeError(f"Outputs must be theano Variable or Out instances. Received {x!r} of type {type(x)}: output "
                        f"{number} of {count} is a NumPy array; was the symbolic variable of that name overwritten, by "
                        "a result perhaps?")
    raise TypeError(f"Outputs must be theano Variable or Out instances. Received {x!r} of type {type(x)}")


def function(inputs, outputs=None, mode=None, updates=None, givens=None, no_default_updates=False,
             accept_inplace=False, name=None, rebuild_strict=True, allow_input_downcast=None, profile=None,
             on_unused_input=None):
    """Compiles a function of the inputs that computes the outputs and updates shared variables.

    inputs: variables or In objects. outputs: a variable (a call gives an array), a list (a list), a dict (a dict), or
    None (an empty list). updates: {shared: expression} or pairs; all see the old values, outputs too. givens:
    {variable: what stands in its place}. no_default_updates: True, or a list of shared variables. mode: "FAST_RUN",
    "FAST_COMPILE", a Mode. allow_input_downcast: whether values that lose something are converted. on_unused_input:
    "raise" (UnusedInputError), "warn", "ignore". MissingInputError where the outputs need what is neither input, nor
    given, nor shared.
    """
    arguments = dict(inputs=inputs, outputs=outputs, mode=mode, updates=updates, givens=givens,
                     no_default_updates=no_default_updates, name=name, allow_input_downcast=allow_input_downcast,
                     profile=profile, on_unused_input=on_unused_input)
    if isinstance(inputs, Variable) or not isinstance(inputs, (list, tuple)):
        raise Exception("Input variables of a Theano function should be contained in a list, even when there is a "
                        "single input.")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, not {name!r}")
    given = [_as_input(x) for x in inputs]
    names = None
    if isinstance(outputs, dict):
        if not all(isinstance(key, str) for key in outputs):
            raise AssertionError("All keys of an outputs dict must be strings")
        names = sorted(outputs)
        outputs = [outputs[key] for key in names]
    single = outputs is not None and not isinstance(outputs, (list, tuple))
    listed = [outputs] if single else list(outputs or [])
    outs = [_as_output(x, i + 1, len(listed)) for i, x in enumerate(listed)]
    checked = _checked_updates(updates)
    pairs = _given_pairs(givens)
    _check_givens(given, pairs)
    pairs, checked, state = _with_states(given, pairs, checked)
    visible = [i for i in given]
    plain = [i for i in given if getattr(i, "_state", None) is None]
    _check_inputs(plain)
    _check_masked(plain, on_unused_input)
    for target in no_default_updates if isinstance(no_default_updates, (list, tuple)) else []:
        if target not in checked:
            checked[target] = target
    mode = modes.get_mode(mode)
    state = state or any(isinstance(x.variable.type, RandomStateType) for x in [*plain, *outs])
    written = _written(plain, outs, accept_inplace)
    kind = _StatefulFunction if state else _DictFunction if names is not None else _WritingFunction if written else Function
    croton_inputs = [_croton.In(unwrap(i.variable), i.name, i.value, i.strict, i.allow_downcast) for i in plain]
    croton_outputs = [_croton.Out(unwrap(o.variable), o.borrow) for o in outs]
    croton_arguments = [croton_inputs, croton_outputs[0] if single and not names else croton_outputs,
                        [(unwrap(target), unwrap(value)) for target, value in checked.items()],
                        [(unwrap(old), unwrap(new)) for old, new in pairs], allow_input_downcast, name, on_unused_input,
                        no_default_updates is True]
    with mode.scope():
        try:
            f = kind(*croton_arguments)
        except MissingInputError:
            if on_unused_input is None and config.on_unused_input == "raise" and not _all_used(
                    [i.variable for i in plain], [o.variable for o in outs] + list(checked.values()), pairs):
                raise UnusedInputError(f"theano.function was asked to create a function computing outputs given certain "
                                       f"inputs, but one of {[i.variable for i in plain]} is not part of the "
                                       "computational graph needed to compute the outputs, and another one is "
                                       "missing") from None
            raise
        except UnusedInputError:
            if not _all_used([i.variable for i in plain], [o.variable for o in outs] + list(checked.values()), pairs):
                raise
            croton_arguments[6] = "ignore"
            f = kind(*croton_arguments)
    out_variables = [o.variable for o in outs]
    f._describe(given, out_variables, checked, mode, arguments, profile, names)
    f._visible, f._written = visible, written
    return f


def _written(inputs, outputs, accept_inplace):
    """Pairs of positions: of an output that a function of theano.tensor.inplace made, and of the input that it is written
    to. Inputs that may be written to say mutable, or the function accept_inplace."""
    at = {i.variable: position for position, i in enumerate(inputs) if i.mutable or accept_inplace}
    pairs = [(number, at.get(getattr(o.variable, "_written_to", None))) for number, o in enumerate(outputs)]
    return [(number, position) for number, position in pairs if position is not None]


def _all_used(inputs, outputs, pairs):
    """Whether Theano would say that all inputs are used: a gradient depends on what its cost depends on."""
    if len(set(inputs)) != len(inputs):
        return False
    seen, pending = set(), outputs + [new for _, new in pairs]
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        pending += getattr(x, "_depends_on", [])
        if x.owner is not None:
            pending += x.owner.inputs
    return all(x in seen for x in inputs)


def _check_masked(inputs, on_unused):
    """An input that is only needed by another input is unused: UnusedInputError unless that is to be ignored."""
    if (on_unused or config.on_unused_input) != "raise":
        return
    given = {i.variable for i in inputs}
    for i in inputs:
        made = i.variable.owner
        if made is not None and any(x in given and x is not i.variable for x in graph.ancestors([i.variable])):
            raise UnusedInputError(f"theano.function was asked to create a function computing outputs given certain "
                                   f"inputs, but the input {i.variable} is made of another input, so that one of both is "
                                   "not needed; pass on_unused_input=ignore")


def _check_inputs(inputs):
    for i in inputs:
        if i.variable.type is None or not hasattr(i.variable, "dtype"):
            raise TypeError(f"{i.variable} is no input of a function: it is of type {i.variable.type}")


def _check_givens(inputs, pairs):
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
            raise AssertionError(f"givens: what stands for {old} depends on another variable that is replaced")


def _with_states(inputs, pairs, updates):
    """Inputs with an update, or with a shared variable as default, become shared variables of the function's own."""
    has_state = False
    for i in inputs:
        container = i.value if isinstance(i.value, StateContainer) else None
        if i.update is None and container is None:
            continue
        has_state = True
        if isinstance(i.variable.type, RandomStateType):
            i._state = container.state if container is not None else shared_state(i.value, i.name)
            pairs = [*pairs, (i.variable, i._state)]
            if i.update is not None:
                updates[i._state] = i.update
            continue
        i._state = container.state if container is not None else shared(
            i.variable.type.filter(0 if i.value is None else i.value, allow_downcast=True) if i.value is not None or
            i.variable.ndim == 0 else numpy.zeros((0,) * i.variable.ndim, i.variable.dtype), i.name,
            broadcastable=i.variable.broadcastable)
        pairs = [*pairs, (i.variable, i._state)]
        if i.update is not None:
            updates[i._state] = i.update
    return pairs, updates, has_state


def pfunc(params, outputs=None, mode=None, updates=None, givens=None, no_default_updates=False, accept_inplace=False,
          name=None, rebuild_strict=True, allow_input_downcast=None, profile=None, on_unused_input=None,
          output_keys=None):
    """function, by the name that it has within Theano."""
    return function(params, outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict,
                    allow_input_downcast, profile, on_unused_input)


def function_dump(filename, inputs, outputs=None, mode=None, updates=None, givens=None, **options):
    raise NotImplementedError("function_dump writes pickles of graphs, which Croton does not have; pickle the compiled "
                              "function")


__all__ = ["In", "Out", "Param", "Function", "function", "pfunc", "UnusedInputError", "MissingInputError"]
