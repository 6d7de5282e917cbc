"""Pickles of expressions and compiled functions: an expression is pickled as its applications of ops, which are applied
again when it is read. Inputs, constants and shared variables are pickled as objects, so that equal ones in a pickle
stay equal."""

import pickle

from croton.pickling import Recorder, Slot, applied_again

from .compiling import function
from .copying import replaced
from .graph import Apply
from .op import Op
from .stateful import Stateful
from .wrapping import _wrapped, unwrap, wrap


class _Recorder(Recorder):
    """A Recorder with records of the user's ops: an _Applied, and an _Output for each of its results."""

    def __init__(self):
        super().__init__()
        self._applied = {}

    def leaf(self, x):
        return wrap(x)

    @staticmethod
    def _apply_of(x):
        """The application of a user's op that computes x, or None."""
        apply = getattr(_wrapped.get(x), "_owner", None)
        return apply if isinstance(apply, Apply) and isinstance(apply.op, Op) else None

    def needed(self, x):
        apply = self._apply_of(x)
        return super().needed(x) if apply is None else [unwrap(i) for i in apply.inputs]

    def record(self, x):
        apply = self._apply_of(x)
        if apply is None:
            return super().record(x)
        if apply not in self._applied:
            self._applied[apply] = self.append(_Applied(apply.op, self.positions([unwrap(i) for i in apply.inputs])))
        return self.append(_Output(self._applied[apply], wrap(x).index, x.name))


class _Applied:
    def __init__(self, op, inputs):
        self.op, self.inputs = op, inputs


class _Output:
    def __init__(self, applied, index, name):
        self.applied, self.index, self.name = applied, index, name


def _from_records(records):
    """Croton's variables of the records, and lists of them for applications."""
    variables = []
    for record in records:
        if isinstance(record, _Applied):
            variables.append(record.op(*[wrap(variables[i]) for i in record.inputs], return_list=True))
        elif isinstance(record, _Output):
            x = variables[record.applied][record.index]
            x.name = record.name
            variables.append(unwrap(x))
        elif isinstance(record, tuple):
            variables.append(applied_again(record, variables))
        else:
            variables.append(unwrap(record))
    return variables


def reduce_variable(variable):
    """The pickle of an expression, for Variable.__reduce__."""
    recorder = _Recorder()
    recorder.add(variable._croton)
    return _variable, (recorder.records, dict(variable.tag.__dict__))


def _variable(records, tag):
    variable = wrap(_from_records(records)[-1])
    variable.tag.__dict__.update(tag)
    return variable


def reduce_input(variable):
    """The pickle of an input: its type and name."""
    return _input, (variable.type, variable.name, dict(variable.tag.__dict__))


def _input(type, name, tag):
    variable = type(name)
    variable.tag.__dict__.update(tag)
    return variable


class Arguments:
    """The arguments of theano.function in a pickle, which is read as a dict; variables that depend on each other still
    do."""

    def __init__(self, arguments):
        self._arguments = arguments

    def __reduce__(self):
        recorder = _Recorder()
        return _arguments, (replaced(self._arguments, lambda v: Slot(recorder.add(v._croton))), recorder.records)


def _arguments(arguments, records):
    variables = _from_records(records)
    return replaced(arguments, lambda slot: wrap(variables[slot.at]), Slot)


def reduce_function(f):
    """The pickle of a function: its arguments, from which it is compiled again, and the containers of its states."""
    containers = f._input_containers() if isinstance(f, Stateful) else None
    return _function, (Arguments({**f._arguments, "profile": None}), containers, f.trust_input)


def _function(arguments, containers, trust_input):
    f = function(**arguments)
    f.trust_input = trust_input
    if containers is not None:
        f._set_containers(containers)
    return f


def function_dump(filename, inputs, outputs=None, mode=None, updates=None, givens=None, no_default_updates=False,
                  accept_inplace=False, name=None, rebuild_strict=True, allow_input_downcast=None, profile=None,
                  on_unused_input=None, extra_tag_to_remove=None):
    """Writes the arguments of `function` to a file, as a pickle of a dict: function(**pickle.load(file))."""
    arguments = dict(inputs=inputs, outputs=outputs, mode=mode, updates=updates, givens=givens,
                     no_default_updates=no_default_updates, accept_inplace=accept_inplace, name=name,
                     rebuild_strict=rebuild_strict, allow_input_downcast=allow_input_downcast, profile=profile,
                     on_unused_input=on_unused_input)
    with open(filename, "wb") as file:
        pickle.dump(Arguments(arguments), file)
