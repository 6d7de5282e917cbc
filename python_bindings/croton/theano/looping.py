"""Loops: scan, and map, reduce and folds by it."""

from croton import loops

from . import test_values
from .croton_op import CrotonOp
from .graph import Variable
from .sharing import SharedVariable
from .updates import OrderedUpdates
from .wrapping import as_variable, holds_variable, unwrap, wrap


def until(condition):
    """The stop condition of a step, `return outputs, until(condition)`: the loop ends with the step in which it is not
    0."""
    return loops.until(condition)


def _unwrapped(x):
    if isinstance(x, loops.until):
        return loops.until(unwrap(as_variable(x.condition)))
    if isinstance(x, dict):
        return {unwrap(key): unwrap(as_variable(value)) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        if len(x) == 2 and isinstance(x[0], SharedVariable):
            return (unwrap(x[0]), unwrap(as_variable(x[1])))
        return type(x)(_unwrapped(item) for item in x)
    return x if x is None else unwrap(as_variable(x))


def _first_rows(initial, entry):
    """The rows of an initial state up to its oldest tap: there may be more, which are not read."""
    oldest = min(_as_list(entry.get("taps")), default=-1)
    return initial[:-oldest] if oldest < -1 and initial.ndim > 0 else initial


def _entry(entry):
    """A user's entry of a sequence or output, with Croton's variables."""
    if not isinstance(entry, dict):
        return entry if entry is None else unwrap(as_variable(entry))
    plain = dict(entry)
    if entry.get("input") is not None:
        plain["input"] = unwrap(as_variable(entry["input"]))
    if entry.get("initial") is not None:
        plain["initial"] = unwrap(_first_rows(as_variable(entry["initial"]), entry))
    return plain


def _entries(entries):
    if entries is None:
        return None
    if isinstance(entries, (list, tuple)):
        return [_entry(entry) for entry in entries]
    return _entry(entries)


def _steps(n_steps):
    if n_steps is None or isinstance(n_steps, int):
        return n_steps
    if isinstance(n_steps, float):
        raise ValueError(f" n_steps must be an int. dtype provided is float ({n_steps})")
    return unwrap(as_variable(n_steps)) if isinstance(n_steps, Variable) or holds_variable(n_steps) else int(n_steps)


def _as_list(entries):
    if entries is None:
        return []
    return entries if isinstance(entries, (list, tuple)) else [entries]


def _first_arguments(sequences, outputs_info, non_sequences):
    """The arguments of the first step: pairs of a variable and the row of it, None for the whole variable."""
    for entry in _as_list(sequences):
        entry = entry if isinstance(entry, dict) else {"input": entry}
        taps = _as_list(entry.get("taps", 0)) or [0]
        yield from ((entry["input"], tap - min(0, *taps)) for tap in taps)
    for entry in _as_list(outputs_info):
        entry = entry if isinstance(entry, dict) else {"initial": entry}
        if entry.get("initial") is not None:
            taps = _as_list(entry.get("taps", -1))
            yield from ((entry["initial"], None if taps == [-1] else tap - min(taps)) for tap in taps)
    yield from ((x, None) for x in _as_list(non_sequences))


def _step(fn, *sources):
    """fn with Theano's variables, which have test values if those are computed."""
    def step(*arguments):
        arguments = wrap(list(arguments))
        if test_values.enabled():
            for argument, (whole, row) in zip(arguments, _first_arguments(*sources)):
                test_values.inherit(argument, as_variable(whole), row)
        return _unwrapped(fn(*arguments))

    return step


class Scan(CrotonOp, shows=("loop",)):
    """The class of owner.op of a scan's results. Only scan makes loops."""


def scan(fn, sequences=None, outputs_info=None, non_sequences=None, n_steps=None, truncate_gradient=-1,
         go_backwards=False, mode=None, name=None, profile=False, allow_gc=None, strict=False, return_list=False):
    """Computes a loop of fn: (outputs, updates). docs/use/scan.md describes the arguments and results of fn.

    Pass updates to function(updates=): they have the states of random numbers drawn in the loop, and the updates of fn.
    mode, profile and allow_gc have no effect.
    """
    outputs, updates = loops.scan(_step(fn, sequences, outputs_info, non_sequences), _entries(sequences),
                                  _entries(outputs_info), _entries(non_sequences), _steps(n_steps), truncate_gradient,
                                  go_backwards, name, strict, return_list=True)
    outputs = wrap(outputs)
    all_updates = OrderedUpdates((wrap(shared), wrap(value)) for shared, value in updates.items())
    if return_list or len(outputs) > 1:
        return outputs, all_updates
    return (outputs[0] if outputs else None), all_updates


def map(fn, sequences, non_sequences=None, truncate_gradient=-1, go_backwards=False, mode=None, name=None):
    """The results of fn for each element: a scan without recurrent outputs."""
    return scan(fn, sequences, [], non_sequences, None, truncate_gradient, go_backwards, mode, name)


def reduce(fn, sequences, outputs_info, non_sequences=None, go_backwards=False, mode=None, name=None):
    """The states after the last step."""
    outputs, updates = scan(fn, sequences, outputs_info, non_sequences, None, -1, go_backwards, mode, name)
    return ([x[-1] for x in outputs] if isinstance(outputs, (list, tuple)) else outputs[-1]), updates


def foldl(fn, sequences, outputs_info, non_sequences=None, mode=None, name=None):
    """reduce in the order of the elements, from the first on."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name)


def foldr(fn, sequences, outputs_info, non_sequences=None, mode=None, name=None):
    """reduce in the reverse order of the elements, from the last on."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name)


def scan_checkpoints(fn, sequences=[], outputs_info=None, non_sequences=[], name="checkpointscan_fn", n_steps=None,
                     save_every_N=10, padding=True):
    """A scan that keeps the outputs of every save_every_N-th step only; gradients recompute the others."""
    outputs, updates = loops.scan(_step(fn, sequences, outputs_info, non_sequences), _entries(sequences),
                                  _entries(outputs_info), _entries(non_sequences), _steps(n_steps), name=name,
                                  return_list=True, save_every=save_every_N)
    outputs = wrap(outputs)
    all_updates = OrderedUpdates((wrap(shared), wrap(value)) for shared, value in updates.items())
    return (outputs[0] if len(outputs) == 1 else outputs), all_updates
