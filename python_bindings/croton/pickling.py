"""Pickles. Shared variables: value, name, device, and axes that always have size 1; default updates are not kept.
Expressions: their applications of ops, which are applied again when the pickle is read. Functions: their arguments,
from which they are compiled again, with the flags of that time."""

import warnings
import weakref

from . import _croton

# Croton's variable without an op -> its object in pickles: one object each, so that a pickle has it once.
_leaves = weakref.WeakValueDictionary()


class Recorder:
    """The graph of variables as records, in topological order. The record of a variable without an op is the result of
    `leaf`; others are (op, inputs, attributes, name of the variable, body), where body is None or the body of a loop:
    (inputs, outputs, truncate). Variables in records are positions of records."""

    def __init__(self):
        self.records, self._at = [], {}

    def add(self, variable):
        """The position of the record of one of Croton's variables. TypeError for the user's operations, which have no
        record. Not recursive, so that expressions may be deep."""
        pending = [variable]
        while pending:
            x = pending[-1]
            needed = [] if x in self._at else [i for i in self.needed(x) if i not in self._at]
            if needed:
                pending.extend(needed[::-1])
                continue
            pending.pop()
            if x not in self._at:
                self._at[x] = self.record(x)
        return self._at[variable]

    def leaf(self, x):
        """The record of a variable without an op."""
        return _leaf(x)

    def needed(self, x):
        """The variables whose records the record of x refers to."""
        made = _croton.application(x, attributes=True)
        if made is None:
            return []
        _, inputs, _, body = made
        return inputs if body is None else [*inputs, *body[0], *body[1]]

    def record(self, x):
        """The position of the new record of x."""
        made = _croton.application(x, attributes=True)
        if made is None:
            return self.append(self.leaf(x))
        op, inputs, attributes, body = made
        if body is not None:
            body = (self.positions(body[0]), self.positions(body[1]), body[2])
        return self.append((op, self.positions(inputs), attributes, x.name, body))

    def positions(self, variables):
        return [self._at[x] for x in variables]

    def append(self, record):
        self.records.append(record)
        return len(self.records) - 1


def applied_again(record, variables):
    """Croton's variable of a record (op, inputs, attributes, name, body), given the variables of the records before."""
    op, inputs, attributes, name, body = record
    if body is not None:
        body = ([variables[i] for i in body[0]], [variables[i] for i in body[1]], body[2])
    x = _croton.apply_again(op, [variables[i] for i in inputs], attributes, body)
    x.name = name
    return x


class _Leaf:
    """A variable without an op in a pickle; it is read as the variable."""

    def __init__(self, variable):
        self.variable = variable

    def __reduce__(self):
        x = self.variable
        if _croton.is_shared(x):
            x = _croton.as_shared(x)
            return _shared, (x.get_value(), x.name, x.home if x.pinned else None, x.broadcastable)
        if x.is_constant:
            return _constant, (_croton.constant_value(x), x.name)
        return _input, (x.dtype, x.sizes, x.name)


def _leaf(x):
    leaf = _leaves.get(x)
    if leaf is None:
        leaf = _leaves[x] = _Leaf(x)
    return leaf


# Pickle cannot find the functions of the extension module by name.
def _constant(value, name):
    return _croton.constant(value, name)


def _input(dtype, sizes, name):
    return _croton.variable(dtype, sizes, name)


def _shared(value, name, target, broadcastable):
    """The shared variable of a pickle. If its device is missing, it goes to the default device, with a warning."""
    options = {"name": name, "broadcastable": list(broadcastable)}
    try:
        return _croton.shared(value, target=target, **options)
    except (_croton.DeviceError, _croton.ValueError, _croton.ConfigError) as error:
        if target is None:
            raise
        warnings.warn(
            f"the shared variable {name or 'without a name'} was stored on {target}, which this machine does not have; "
            f"it is loaded to the default device ({error})", RuntimeWarning, stacklevel=2)
        return _croton.shared(value, **options)


class Slot:
    """A variable in the arguments of a function: the position of its record."""

    def __init__(self, at):
        self.at = at


class _Ruled:
    """An In or Out in the arguments of a function."""

    def __init__(self, kind, variable, rules):
        self.kind, self.variable, self.rules = kind, variable, rules


def _with_slots(value, recorder):
    """An argument of a function with slots instead of variables."""
    if isinstance(value, _croton.Variable):
        return Slot(recorder.add(value))
    if isinstance(value, (_croton.In, _croton.Out)):
        return _Ruled(type(value), _with_slots(value.variable, recorder), value.rules)
    if isinstance(value, (list, tuple)):
        return type(value)(_with_slots(item, recorder) for item in value)
    return value


def _without_slots(value, variables):
    if isinstance(value, Slot):
        return variables[value.at]
    if isinstance(value, _Ruled):
        return value.kind(variables[value.variable.at], *value.rules)
    if isinstance(value, (list, tuple)):
        return type(value)(_without_slots(item, variables) for item in value)
    return value


def _variables(records):
    variables = []
    for record in records:
        variables.append(applied_again(record, variables) if isinstance(record, tuple) else record)
    return variables


def _variable(records):
    return _variables(records)[-1]


def _same(x):
    return x


def copy_shared(x):
    """A new shared variable with the same value."""
    make, arguments = _Leaf(x).__reduce__()
    return make(*arguments)


def reduce_variable(x):
    """The pickle of a variable. TypeError for results of the user's operations."""
    if _croton.application(x) is None:
        return _same, (_leaf(x),)
    recorder = Recorder()
    recorder.add(x)
    return _variable, (recorder.records,)


def reduce_function(f):
    """The pickle of a compiled function: the arguments of croton.function, from which it is compiled again."""
    recorder = Recorder()
    return _function, (_with_slots(f.arguments, recorder), recorder.records)


def _function(arguments, records):
    return _croton.function(*_without_slots(arguments, _variables(records)))
