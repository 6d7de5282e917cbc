"""theano.function: compiled functions with Theano's arguments, conversions and errors."""

import copy

import numpy

from croton import _croton

from . import copying, givens as givens_, graph, modes, stateful
from .cloning import clone
from .configuration import config
from .containers import Container, Containers, Values
from .graph import Variable
from .inputs import In, Out, Param, SymbolicInput, SymbolicOutput
from .random_states import RandomStateType
from .sharing import GenericSharedVariable, SharedVariable, TensorSharedVariable
from .updates import OrderedUpdates
from .wrapping import as_variable, unwrap, wrap

UnusedInputError = _croton.UnusedInputError
MissingInputError = _croton.MissingInputError


class FunctionGraph:
    """A compiled function's graph before rewriting, for programs that inspect it or count its nodes."""

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
    """The graph, inputs, outputs and mode of a function: f.maker."""

    def __init__(self, fgraph, inputs, outputs, mode):
        self.fgraph = fgraph
        self.inputs = inputs
        self.outputs = outputs
        self.mode = mode
        self.linker = mode.linker
        self.profile = None
        self.expanded_inputs = inputs


class Function(_croton.Function):
    """A compiled function; its arguments are values by position or by name. See `function`."""

    def _describe(self, inputs, explicit, outputs, updates, pairs, mode, arguments, profile, names):
        self._arguments = arguments  # those of `function`, to compile it again: for copies and pickles
        self._output_names = names
        self.profile = profile
        self.trust_input = False
        self._parts = (inputs, outputs, updates, pairs)
        self._explicit = explicit  # the inputs that the compiled function is called with
        self._mode = mode

    def _results(self):
        """The expressions of outputs and updates (of inputs, then of shared variables), with givens replaced."""
        inputs, outputs, updates, pairs = self._parts
        results = [o for o in outputs] + [i.update for i in inputs if i.update is not None] + list(updates.values())
        if not pairs:
            return results
        return clone(results, pairs)

    @property
    def maker(self):
        inputs, outputs, updates, _ = self._parts
        shared = self.get_shared()
        whole = FunctionGraph([i.variable for i in inputs] + shared, self._results(), update_mapping=updates)
        whole.name = self._arguments["name"]
        shared_inputs = [In(x, x.name, x.container, updates.get(x), implicit=True, shared=True) for x in shared]
        return FunctionMaker(whole, [*inputs, *shared_inputs], outputs, self._mode)

    @property
    def fn(self):
        return self

    @property
    def storage_map(self):
        """{variable: storage} of the variables whose values live between calls."""
        inputs, _, _, _ = self._parts
        return {**{i.variable: self.container[i.variable].storage for i in inputs},
                **{x: x.container.storage for x in self.get_shared()}}

    @property
    def unpack_single(self):
        return not isinstance(self._arguments["outputs"], (list, tuple, dict))

    @property
    def outputs(self):
        return self._parts[1]

    def get_shared(self):
        """The shared variables that the function reads or updates."""
        inputs, _, updates, _ = self._parts
        found = graph.inputs(self._results(), [i.variable for i in inputs])
        found = [x for x in found if isinstance(x, SharedVariable)]
        return found + [x for x in updates if x not in found]

    def free(self):
        """Does nothing: all functions share one pool of working memory."""

    def copy(self, share_memory=False, swap=None, delete_updates=False, name=None, profile=None):
        """A function with the same code and its own working memory and states, whose outputs are a list. swap: {shared
        variable, or its name: new one}; delete_updates: without updates. Other shared variables stay shared."""
        arguments = copying.as_copy(self._arguments, name)
        if delete_updates:
            arguments = copying.without_updates(arguments)
        if swap:
            arguments = copying.swapped(arguments, self.get_shared(), dict(swap))
        other = function(**arguments)
        if isinstance(self, stateful.Stateful) and isinstance(other, stateful.Stateful):
            other._copy_states(self)
        return other

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        """The same function with copies of its inputs, states and shared variables."""
        other = function(**copying.deep_copied(self._arguments, memo))
        other.trust_input = self.trust_input
        if isinstance(self, stateful.Stateful):
            other._set_containers([copy.deepcopy(c, memo) for c in self._input_containers()])
        return other

    @property
    def container(self):
        """The containers of the values of inputs and states: container[x].value, .data, .storage."""
        if not hasattr(self, "_containers"):
            inputs = self._parts[0]
            self._containers = Containers(inputs, self._input_containers(), self.get_shared())
        return self._containers

    finder = container

    def _input_containers(self):
        return [Container(i.variable.type, None, i.strict, i.allow_downcast, i.name) for i in self._parts[0]]

    @property
    def value(self):
        return Values(self.container)

    def __getitem__(self, item):
        """The value of an input (by position, name or variable) or state between calls."""
        return self.value[item]

    def __setitem__(self, item, value):
        self.value[item] = value

    def __contains__(self, item):
        return item in self.container

    @property
    def defaults(self):
        return [(True, False, None) for _ in self._parts[0]]

    @property
    def _check_for_aliased_inputs(self):
        """Whether arguments may be written to or kept, so that they must not share memory."""
        return any(i.mutable or getattr(i, "borrow", False) for i in self._parts[0])

    def _explain(self, error, args, kwargs):
        """The error of a call in Theano's words: an invalid value of an input is a TypeError with its position."""
        error = self._mode.explain(error)
        if not isinstance(error, (TypeError, ValueError)):
            return error
        name = f'with name "{self._arguments["name"]}" ' if self._arguments.get("name") else ""
        for index, (i, value) in enumerate(zip(self._explicit, args)):
            downcast = self._arguments["allow_input_downcast"] if i.allow_downcast is None else i.allow_downcast
            try:
                i.variable.type.filter(value, i.strict, downcast)
            except (TypeError, ValueError):
                return TypeError(f"Bad input argument to theano function {name}at index {index} (0-based). {error}")
        return error

    def __str__(self):
        return f"<theano.compile.function_module.Function {self.name}>"


class _DictFunction(Function):
    """A function that returns a dict."""

    def __call__(self, *args, **kwargs):
        return dict(zip(self._output_names, super().__call__(*args, **kwargs)))


class _InplaceFunction(Function):
    """A function that writes the results of functions of theano.tensor.inplace to its arguments."""

    def __call__(self, *args, **kwargs):
        result = super().__call__(*args, **kwargs)
        several = isinstance(result, list)
        results = result if several else [result]
        for output, position in self._inplace:
            if position >= len(args):
                continue
            array, result = args[position], results[output]
            if isinstance(array, numpy.ndarray) and array.flags.writeable and \
                    (array.shape, array.dtype) == (result.shape, result.dtype):
                array[...] = result
                results[output] = array
        return results if several else results[0]


class _StatefulFunction(stateful.Stateful, Function):
    """A function with inputs that have values of their own."""

    def _explain(self, error, args, kwargs):
        return self._mode.explain(error)  # arguments are checked before the call


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
    """The updates, each with a value of the variable's type. TypeError and ValueError as in Theano."""
    checked = OrderedUpdates()
    for target, value in _update_pairs(updates):
        if not isinstance(target, SharedVariable):
            raise TypeError(f"update target must be a SharedVariable: {target!r}")
        if target in checked:
            raise ValueError(f"this shared variable already has an update expression: {target}", target,
                             checked[target])
        if isinstance(value, Variable) or not isinstance(target, TensorSharedVariable):
            value = as_variable(value)
        else:
            value = wrap(_croton.constant(target.type.filter(value, allow_downcast=False)))
        checked[target] = _of_type(value, target)
    return checked


def _of_type(value, target):
    """The value of an update, which must have the variable's type."""
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

    inputs: variables or In objects. outputs: a variable (a call returns an array), a list (a list), a dict (a dict), or
    None (an empty list). updates: {shared: expression} or pairs; outputs and updates are computed from the old values.
    givens: {variable: its replacement}. no_default_updates: True, or a list of shared variables. mode: "FAST_RUN",
    "FAST_COMPILE", or a Mode. allow_input_downcast: whether values are converted if that loses precision.
    on_unused_input: "raise" (UnusedInputError), "warn" or "ignore". MissingInputError if the outputs need a variable
    that is neither an input, nor in givens, nor shared.
    """
    arguments = dict(inputs=inputs, outputs=outputs, mode=mode, updates=updates, givens=givens,
                     no_default_updates=no_default_updates, accept_inplace=accept_inplace, name=name,
                     rebuild_strict=rebuild_strict, allow_input_downcast=allow_input_downcast, profile=profile,
                     on_unused_input=on_unused_input)
    if isinstance(inputs, Variable) or not isinstance(inputs, (list, tuple)):
        raise Exception("Input variables of a Theano function should be contained in a list, even when there is a "
                        "single input.")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, not {name!r}")
    ins = [_as_input(x) for x in inputs]
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
    pairs = givens_.pairs_of(givens, rebuild_strict)
    givens_.check(ins, pairs)
    if givens_.must_be_cloned(pairs):
        if no_default_updates is not True:
            _add_default_updates(outs, checked, _without_default_update(no_default_updates))
        ins, outs, checked = givens_.applied(ins, outs, checked, pairs)
        pairs = []
    is_stateful = stateful.needed(ins, outs)
    states = [stateful.StatefulInput(i, allow_input_downcast) for i in ins] if is_stateful else []
    explicit = [i.input for i in states if i.shared is None] if is_stateful else ins
    for i in states:  # an input with the value of a shared variable is replaced by that variable
        if i.shared is not None:
            pairs.append((i.input.variable, i.shared))
            if i.input.update is not None:
                checked[i.shared] = i.input.update
    _check_inputs(explicit)
    for target in _without_default_update(no_default_updates):
        if target not in checked:
            checked[target] = target
    mode = modes.get_mode(mode)
    inplace = _inplace_pairs(explicit, outs, accept_inplace)
    kind = _StatefulFunction if is_stateful else _DictFunction if names is not None else \
        _InplaceFunction if inplace else Function
    croton_inputs = [_croton.In(unwrap(i.variable), i.name, None, i.strict, i.allow_downcast) for i in explicit]
    croton_outputs = [_croton.Out(unwrap(o.variable), o.borrow) for o in outs]
    croton_outputs += [_croton.Out(unwrap(i.update)) for i in explicit if i.update is not None]
    results = [o.variable for o in outs] + [i.update for i in explicit if i.update is not None] + list(checked.values())
    _check_masked(explicit, results + [new for _, new in pairs], on_unused_input)
    croton_arguments = [croton_inputs, croton_outputs[0] if kind in (Function, _InplaceFunction) and single else
                        croton_outputs, [(unwrap(target), unwrap(value)) for target, value in checked.items()],
                        [(unwrap(old), unwrap(new)) for old, new in pairs], allow_input_downcast, name, on_unused_input,
                        no_default_updates is True]
    with mode.scope():
        f = _compiled(mode.kind_of(kind), croton_arguments, [i.variable for i in explicit], results, pairs)
    f._describe(ins, explicit, [o.variable for o in outs], checked, pairs, mode, arguments, profile, names)
    f._inplace = inplace
    if is_stateful:
        f._bind(states, outs, names, single)
    return f


def _compiled(kind, arguments, inputs, results, pairs):
    """The compiled function. UnusedInputError if Theano would raise it."""
    try:
        return kind(*arguments)
    except MissingInputError:
        on_unused_input = arguments[6] or config.on_unused_input
        if on_unused_input == "raise" and not _all_used(inputs, results, pairs):
            raise UnusedInputError(f"theano.function was asked to create a function computing outputs given certain "
                                   f"inputs, but one of {inputs} is not part of the computational graph needed to "
                                   "compute the outputs, and another one is missing") from None
        raise
    except UnusedInputError:
        if not _all_used(inputs, results, pairs):
            raise
        arguments[6] = "ignore"
        return kind(*arguments)


def _add_default_updates(outputs, updates, excluded):
    """Adds the default updates of shared variables that outputs and updates use, except those that have an update or
    are excluded."""
    pending = [o.variable for o in outputs] + list(updates.values())
    while pending:
        for x in graph.inputs([pending.pop()]):
            value = getattr(x, "_default_update", None)
            if value is not None and x not in updates and x not in excluded:
                updates[x] = value
                pending.append(value)


def _without_default_update(no_default_updates):
    """The listed shared variables that are not updated by default."""
    if isinstance(no_default_updates, bool):
        return []
    if not isinstance(no_default_updates, (list, tuple)):
        raise TypeError("no_default_update should be either a boolean or a list")
    return no_default_updates


def _inplace_pairs(inputs, outputs, accept_inplace):
    """Pairs of positions: of an output of a function of theano.tensor.inplace, and of the input that it is written to.
    Inputs may be written to if they are mutable, or if the function has accept_inplace."""
    at = {i.variable: position for position, i in enumerate(inputs) if i.mutable or accept_inplace}
    pairs = [(number, at.get(getattr(o.variable, "_written_to", None))) for number, o in enumerate(outputs)]
    return [(number, position) for number, position in pairs if position is not None]


def _all_used(inputs, outputs, pairs):
    """Whether all inputs are used in Theano's sense: a gradient depends on all variables that its cost depends on."""
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


def _check_masked(inputs, results, on_unused):
    """UnusedInputError, unless that is ignored, for an input that only another input depends on."""
    if (on_unused or config.on_unused_input) != "raise":
        return
    variables = [i.variable for i in inputs]
    if all(x.owner is None for x in variables):  # no input depends on another
        return
    reached = set(graph.ancestors(results, variables))
    for x in variables:
        if x not in reached and any(x in graph.ancestors([other]) for other in variables if other is not x):
            raise UnusedInputError(f"theano.function was asked to create a function computing outputs given certain "
                                   f"inputs, but the input {x} is not needed, since another input is computed from it; "
                                   "pass on_unused_input=ignore")


def _check_inputs(inputs):
    for i in inputs:
        if i.variable.type is None or not hasattr(i.variable, "dtype"):
            raise TypeError(f"{i.variable} cannot be an input of a function: it is of type {i.variable.type}")


def pfunc(params, outputs=None, mode=None, updates=None, givens=None, no_default_updates=False, accept_inplace=False,
          name=None, rebuild_strict=True, allow_input_downcast=None, profile=None, on_unused_input=None,
          output_keys=None):
    """The function of `function`, under its name inside of Theano."""
    return function(params, outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict,
                    allow_input_downcast, profile, on_unused_input)


__all__ = ["In", "Out", "Param", "Function", "function", "pfunc", "UnusedInputError", "MissingInputError"]
