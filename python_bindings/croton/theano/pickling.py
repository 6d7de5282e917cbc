"""Pickles of expressions and compiled functions: what an expression is made of is written down, applied again when it is
read. Inputs, constants and shared variables are pickled as themselves, so that those of one pickle stay the same."""

from croton import _croton

from .variables import register, unwrap, wrap


def _made_of(variable):
    """The nodes that a variable is made of, each behind those that it needs, and itself: iterative."""
    order, seen, pending = [], set(), [(variable, False)]
    while pending:
        x, ready = pending.pop()
        if ready:
            order.append(x)
            continue
        if x in seen:
            continue
        seen.add(x)
        made = _croton.application(x)
        pending.append((x, True))
        pending.extend((i, False) for i in (made[1] if made else ())[::-1])
    return order


def reduce_variable(variable):
    """For Variable.__reduce__: a list of leaves and of (op, positions of inputs, attributes, name). TypeError for loops,
    branches and operations of the user, which cannot be written down."""
    records, at = [], {}
    for x in _made_of(variable._croton):
        at[x] = len(records)
        made = _croton.application(x, attributes=True)
        records.append(wrap(x) if made is None else (made[0], [at[i] for i in made[1]], made[2], x.name))
    return _variable, (records, _tag_of(variable))


def _tag_of(variable):
    return dict(variable.tag.__dict__)


def _variable(records, tag):
    made = []
    for record in records:
        if not isinstance(record, tuple):
            made.append(unwrap(record))
            continue
        op, inputs, attributes, name = record
        x = _croton.apply_again(op, [made[i] for i in inputs], attributes)
        x.name = name
        made.append(x)
    variable = wrap(made[-1])
    variable.tag.__dict__.update(tag)
    return variable


def reduce_input(variable):
    """For inputs: their type and name."""
    return _input, (variable.dtype, variable.broadcastable, variable.name, _tag_of(variable))


def _input(dtype, broadcastable, name, tag):
    from .variables import TensorVariable
    variable = register(TensorVariable(_croton.variable(dtype, [1 if b else None for b in broadcastable], name)))
    variable.tag.__dict__.update(tag)
    return variable


def reduce_function(f):
    """For functions: the arguments that they were made with; they are compiled again."""
    arguments = dict(f._arguments)
    arguments["profile"] = None
    return _function, (type(f).__name__, arguments)


def _function(_, arguments):
    from .compiling import function
    return function(**arguments)
