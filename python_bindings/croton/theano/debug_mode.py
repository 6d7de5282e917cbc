"""theano.compile.debugmode: a mode that checks calls, and its errors."""

import contextlib
import copy
import functools
import threading

import numpy

from croton import _croton

from . import modes
from .configuration import config


class DebugModeError(Exception):
    """Base of the errors of DebugMode."""


class BadThunkOutput(DebugModeError, _croton.VerificationError):
    """A kernel's result differs from that of the graph before rewriting."""


BadCLinkerOutput = BadThunkOutput


class BadOptimization(DebugModeError, _croton.VerificationError):
    """A rewrite rule has changed the graph's result; the message names the rule."""


class BadDestroyMap(DebugModeError):
    """perform of an op in Python has written to an input that is not in its destroy_map."""


class BadViewMap(DebugModeError):
    """perform of an op in Python has returned memory of an input that is neither in its view_map nor in its
    destroy_map."""


class StochasticOrder(DebugModeError):
    """For programs that catch it: Theano's rewriting could differ between runs. Croton's is deterministic."""


class InvalidValueError(DebugModeError):
    """A value that does not have its variable's type."""


class _NotFinite(InvalidValueError, _croton.NanError):
    """A NaN or infinite value, with check_isfinite."""


def _option(name):
    """An argument of DebugMode, or the flag of theano.config.DebugMode if it is None."""
    return property(
        lambda self: getattr(config.DebugMode, name) if self._options[name] is None else self._options[name])


class DebugMode(modes.Mode):
    """A mode that compares every call with the graph before rewriting, in double precision (Croton's flag mode=verify).

    check_isfinite: NaN and infinities are errors (nan_guard=nan+inf). check_py_code: checks that perform of ops in
    Python uses its inputs as destroy_map and view_map declare. The others are only stored: there is no C code of ops to
    compare with, rewriting is deterministic (stability_patience), and Croton allocates the memory of results
    (check_preallocated_output, require_matching_strides). ValueError if neither check_c_code nor check_py_code is set.
    """

    stability_patience, check_c_code, check_py_code = _option("patience"), _option("check_c"), _option("check_py")
    check_isfinite, require_matching_strides = _option("check_finite"), _option("check_strides")
    check_preallocated_output = _option("check_preallocated_output")

    def __init__(self, optimizer="fast_run", stability_patience=None, check_c_code=None, check_py_code=None,
                 check_isfinite=None, check_preallocated_output=None, require_matching_strides=None, linker="cvm"):
        super().__init__(linker, optimizer)
        self._options = {"patience": stability_patience, "check_c": check_c_code, "check_py": check_py_code,
                         "check_finite": check_isfinite, "check_preallocated_output": check_preallocated_output,
                         "check_strides": require_matching_strides}
        if not self.check_c_code and not self.check_py_code:
            raise ValueError("DebugMode has to check at least one of c and py code")

    @property
    def flags(self):
        return {"mode": "verify", **({"nan_guard": "nan+inf"} if self.check_isfinite else {})}

    def clone(self, link_kwargs=None, optimizer="", **kwargs):
        other = copy.copy(self)
        if optimizer != "":
            other.optimizer = other.provided_optimizer = optimizer
        return other

    def explain(self, error):
        if isinstance(error, DebugModeError):
            return error
        if isinstance(error, _croton.VerificationError):
            rule = any(f"at fault: {what}" in str(error) for what in ("the rewrit", "together, the rewrit"))
            return (BadOptimization if rule else BadThunkOutput)(*error.args)
        if isinstance(error, _croton.NanError):
            return _NotFinite(*error.args)
        return error

    def kind_of(self, kind):
        return _checked(kind) if self.check_py_code else kind


modes.predefined_modes.update({"DebugMode": DebugMode(), "DEBUG_MODE": DebugMode()})


class _Thread(threading.local):
    """The number of calls with checks of ops in Python that this thread is in."""

    calls = 0


_thread = _Thread()


@contextlib.contextmanager
def _checking():
    _thread.calls += 1
    try:
        yield
    finally:
        _thread.calls -= 1


class _CheckedCall:
    def __call__(self, *args, **kwargs):
        with _checking():
            return super().__call__(*args, **kwargs)


@functools.cache
def _checked(kind):
    """The class of functions whose calls check ops in Python."""
    return type(kind.__name__, (_CheckedCall, kind), {})


def check_perform(op, node, originals, inputs, outputs):
    """Checks what perform did to `inputs`, which were copies of `originals`. Only in calls in DebugMode."""
    if _thread.calls == 0:
        return
    destroyed = {i for listed in op.destroy_map.values() for i in listed}
    for i, (before, after) in enumerate(zip(originals, inputs)):
        if i not in destroyed and numpy.asarray(before).tobytes() != after.tobytes():
            raise BadDestroyMap(f"{op}: perform has changed its input {i}, which destroy_map ({op.destroy_map}) does "
                                "not name")
    for o, (value, declared) in enumerate(zip(outputs, node.outputs)):
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            continue
        if value.dtype != declared.type.dtype or value.ndim != declared.type.ndim:
            raise InvalidValueError(f"{op}: perform has set output {o} to an array of dtype {value.dtype} and "
                                    f"{value.ndim} dimensions; its type is {declared.type}")
        named = [*op.view_map.get(o, []), *op.destroy_map.get(o, [])]
        for i, array in enumerate(inputs):
            if i not in named and numpy.may_share_memory(value, array):
                raise BadViewMap(f"{op}: output {o} of perform is memory of input {i}, which neither view_map "
                                 f"({op.view_map}) nor destroy_map ({op.destroy_map}) names")
