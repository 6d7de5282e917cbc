"""Pickles of expressions and compiled functions: what an expression is made of is written down, and applied again when
it is read. Inputs, constants and shared variables are pickled as themselves, so that those of one pickle stay the same."""

import pickle

from croton.pickling import Recorder, Slot, applied_again

from .compiling import function
from .copying import replaced
from .graph import Apply
from .op import Op
from .stateful import Stateful
from .wrapping import _wrapped, unwrap, wrap


class _Recorder(Recorder):
    """With records of the user's ops: an _Applied, of which an _Output picks a result."""

    def __init__(self):
        super().__init__()
        self._applied = {}

    def leaf(self, x):
        return wrap(x)

    @staticmethod
    def _apply_of(x):
        """The application of an op of the user that made it."""
        made = getattr(_wrapped.get(x), "_own", None)
        return made if isinstance(made, Apply) and isinstance(made.op, Op) else None

    def needed(self, x):
        made = self._apply_of(x)
        return super().needed(x) if made is None else [unwrap(i) for i in made.inputs]

    def record(self, x):
        made = self._apply_of(x)
        if made is None:
            return super().record(x)
        if made not in self._applied:
            self._applied[made] = self.append(_Applied(made.op, self.positions([unwrap(i) for i in made.inputs])))
        return self.append(_Output(self._applied[made], wrap(x).index, x.name))


class _Applied:
    def __init__(self, op, inputs):
        self.op, self.inputs = op, inputs


class _Output:
    def __init__(self, applied, index, name):
        self.applied, self.index, self.name = applied, index, name


def _made(records):
    """What the records stand for: Croton's variables, and lists of them for applications."""
    made = []
    for record in records:
        if isinstance(record, _Applied):
            made.append(record.op(*[wrap(made[i]) for i in record.inputs], return_list=True))
        elif isinstance(record, _Output):
            x = made[record.applied][record.index]
            x.name = record.name
            made.append(unwrap(x))
        elif isinstance(record, tuple):
            made.append(applied_again(record, made))
        else:
            made.append(unwrap(record))
    return made


def reduce_variable(variable):
    """For Variable.__reduce__."""
    recorder = _Recorder()
    recorder.add(variable._croton)
    return _variable, (recorder.records, dict(variable.tag.__dict__))


def _variable(records, tag):
    variable = wrap(_made(records)[-1])
    variable.tag.__dict__.update(tag)
    return variable


def reduce_input(variable):
    """For inputs: their type and name."""
    return _input, (variable.type, variable.name, dict(variable.tag.__dict__))


def _input(type, name, tag):
    variable = type(name)
    variable.tag.__dict__.update(tag)
    return variable


class Arguments:
    """The arguments of theano.function to be pickled: they come back as a dict, in which variables that were made of
    each other are so still."""

    def __init__(self, arguments):
        self._arguments = arguments

    def __reduce__(self):
        recorder = _Recorder()
        return _arguments, (replaced(self._arguments, lambda v: Slot(recorder.add(v._croton))), recorder.records)


def _arguments(arguments, records):
    made = _made(records)
    return replaced(arguments, lambda slot: wrap(made[slot.at]), Slot)


def reduce_function(f):
    """For functions: the arguments that they were made with, of which they are compiled again, and the containers of
    their states."""
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
