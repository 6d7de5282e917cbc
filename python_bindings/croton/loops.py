"""Loops: scan, and map, reduce and folds by it. docs/use/scan.md explains the arguments, which are Theano's."""

from . import _croton


class until:
    """The stop condition of a step, `return outputs, updates, until(condition)`: the loop ends with the step in which
    it is not 0."""

    def __init__(self, condition):
        self.condition = condition


def _as_list(x):
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _variable(x):
    return x if isinstance(x, _croton.Variable) else _croton.constant(x)


def _sequence(entry):
    """(variable, taps) of a sequence: a variable, or dict(input=, taps=)."""
    if not isinstance(entry, dict):
        return _variable(entry), [0]
    unknown = set(entry) - {"input", "taps"}
    if unknown or "input" not in entry:
        raise _croton.ValueError(f"scan: a sequence is dict(input=, taps=), not one with {sorted(entry)}")
    taps = entry.get("taps")
    return _variable(entry["input"]), [0] if taps is None else [int(tap) for tap in _as_list(taps)]


def _output_info(entry):
    """(initial value or None, taps) of an output: None, a value, or dict(initial=, taps=)."""
    if entry is None:
        return None, [-1]
    if not isinstance(entry, dict):
        return _variable(entry), [-1]
    unknown = set(entry) - {"initial", "taps", "return_steps", "store_steps", "inplace"}
    if unknown:
        raise _croton.ValueError(f"scan: an output is dict(initial=, taps=), not one with {sorted(unknown)}")
    initial = entry.get("initial")
    taps = entry.get("taps")
    if initial is None:
        if taps:
            raise _croton.ValueError("scan: outputs_info has taps, but no initial value")
        return None, [-1]
    return _variable(initial), [-1] if taps is None else [int(tap) for tap in _as_list(taps)]


def _is_updates(x):
    """Whether x is a dict, or a list of pairs whose first elements are shared variables."""
    if isinstance(x, dict):
        return True
    return (isinstance(x, (list, tuple)) and len(x) > 0 and
            all(isinstance(p, (list, tuple)) and len(p) == 2 and isinstance(p[0], _croton.SharedVariable) for p in x))


def _step_result(returned):
    """(outputs, updates, condition) of a step's result: outputs, updates and until(), each of which is optional, in
    this order or with updates first."""
    condition = None
    if isinstance(returned, until):
        return [], [], _variable(returned.condition)
    if returned is None:
        return [], [], None
    if _is_updates(returned):
        return [], _pairs(returned), None
    if not isinstance(returned, (list, tuple)):
        return [_variable(returned)], [], None
    parts = list(returned)
    if parts and isinstance(parts[-1], until):
        condition = _variable(parts.pop().condition)
    updates = []
    if parts and _is_updates(parts[-1]):
        updates = _pairs(parts.pop())
        parts = parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts
    elif parts and _is_updates(parts[0]):
        updates = _pairs(parts.pop(0))
        parts = parts[0] if len(parts) == 1 and isinstance(parts[0], (list, tuple)) else parts
    elif len(parts) == 2 and isinstance(parts[0], (list, tuple)) and isinstance(parts[1], (list, tuple)):
        parts = parts[0] if not parts[1] else parts  # (outputs, []): no updates
    elif len(parts) == 1 and isinstance(parts[0], (list, tuple)):
        parts = parts[0]
    return [_variable(x) for x in parts], updates, condition


def _pairs(updates):
    items = updates.items() if isinstance(updates, dict) else updates
    return [(shared, _variable(value)) for shared, value in items]


def scan(fn, sequences=None, outputs_info=None, non_sequences=None, n_steps=None, truncate_gradient=-1,
         go_backwards=False, name=None, strict=False, return_list=False, save_every=None):
    """Computes a loop of a step, a function of variables: (outputs, updates).

    fn gets each sequence's elements by their taps, then the past values of each recurrent output by its taps, then the
    non_sequences. It returns outputs, (outputs, updates), or either followed by until(condition). The result has the
    outputs of all steps along a new first axis, a single one as it is, several as a list (return_list: always a list),
    and updates, a dict to pass to function(). n_steps: by default the length of the shortest sequence. go_backwards:
    reads sequences from their ends. truncate_gradient: the number of last steps that gradients go back through. strict:
    outer variables that a step reads must be among non_sequences. save_every: keeps outputs of every save_every-th step
    only; gradients recompute the others. A ValueError or TypeError names a state whose type changes.
    """
    inputs = [_sequence(entry) for entry in _as_list(sequences)]
    recurrent = [_output_info(entry) for entry in _as_list(outputs_info)]
    if all(initial is None for initial, _ in recurrent):
        recurrent = []
    outputs, updates = _croton._scan(lambda arguments: _step_result(fn(*arguments)), inputs, recurrent,
                                     [_variable(x) for x in _as_list(non_sequences)], n_steps, truncate_gradient,
                                     go_backwards, strict, name, save_every)
    return (outputs[0] if len(outputs) == 1 and not return_list else outputs), dict(updates)


def map(fn, sequences, non_sequences=None, truncate_gradient=-1, go_backwards=False, name=None):
    """The results of fn for each element: a scan without recurrent outputs."""
    return scan(fn, sequences, None, non_sequences, None, truncate_gradient, go_backwards, name)


def reduce(fn, sequences, outputs_info, non_sequences=None, go_backwards=False, name=None):
    """The states after the last step; fn(elements..., states..., non_sequences...) computes the next ones."""
    outputs, updates = scan(fn, sequences, outputs_info, non_sequences, None, -1, go_backwards, name)
    last = [x[-1] for x in outputs] if isinstance(outputs, list) else outputs[-1]
    return last, updates


def foldl(fn, sequences, outputs_info, non_sequences=None, name=None):
    """reduce in the order of the elements, from the first on."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, name)


def foldr(fn, sequences, outputs_info, non_sequences=None, name=None):
    """reduce in the reverse order of the elements, from the last on."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, name)
