"""theano.compile.debugmode: the checks of DebugMode, its arguments, and its errors under Theano's names."""

import pickle

import numpy as np
import pytest

import croton
import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.compile.debugmode import (BadDestroyMap, BadOptimization, BadThunkOutput, BadViewMap, DebugMode, DebugModeError,
                                             InvalidValueError, StochasticOrder)


def test_results_that_are_not_finite_are_errors_unless_they_are_let_pass():
    x = T.dvector("x")
    w = theano.shared(np.ones(1), "w")
    f = theano.function([x], T.log(x), updates=[(w, w + T.log(x).sum())], mode="DebugMode")
    assert f([1]).tolist() == [0]
    for bad in (-1, 0):
        with pytest.raises(InvalidValueError, match=r"log \(test_debug_mode.py:\d+\) made 1 (nan|inf)") as raised:
            f([bad])
        assert isinstance(raised.value, (DebugModeError, croton.NanError)) and w.get_value().tolist() == [1]
    with pytest.raises(InvalidValueError):
        f([np.inf])  # as for an input
    g = theano.function([x], T.log(x), mode=DebugMode(check_isfinite=False))
    assert np.isnan(g([-1])).all() and len(g.verification().outputs) == 1
    with theano.config.change_flags(DebugMode__check_finite=False):
        assert np.isnan(theano.function([x], T.log(x), mode="DebugMode")([-1])).all()
    assert np.isnan(theano.function([x], T.log(x))([-1])).all()


def test_arguments_and_flags():
    mode = DebugMode("fast_compile", 3, True, False, True, ["ALL"], 2)
    assert (mode.optimizer, mode.stability_patience, mode.check_c_code, mode.check_py_code, mode.check_isfinite,
            mode.check_preallocated_output, mode.require_matching_strides) == ("fast_compile", 3, True, False, True, ["ALL"], 2)
    assert mode.clone(optimizer="fast_run").check_py_code is False and mode.optimizer == "fast_compile"
    assert mode.including("x").excluding("y") is mode
    flags = theano.config.DebugMode
    assert (flags.patience, flags.check_c, flags.check_py, flags.check_finite, flags.check_strides, flags.warn_input_not_reused,
            flags.check_preallocated_output, flags.check_preallocated_output_ndim) == (10, True, True, True, 0, True, "", 4)
    with theano.config.change_flags(DebugMode__patience=5):
        assert DebugMode().stability_patience == 5
    with pytest.raises(ValueError, match="at least one of c and py code"):
        DebugMode(check_c_code=False, check_py_code=False)


class Doubled(theano.Op):
    """2 x, by a perform method with faults."""

    __props__ = ("fault",)
    itypes, otypes = [T.dvector], [T.dvector]

    def __init__(self, fault=""):
        self.fault = fault
        self.destroy_map = {0: [0]} if fault.endswith("by its map") else {}

    def infer_shape(self, node, shapes):
        return shapes

    def perform(self, node, inputs, outputs):
        outputs[0][0] = 2 * inputs[0]
        if self.fault.startswith("writes"):
            inputs[0][0] = 77
        if self.fault.startswith("view"):
            inputs[0] *= 2
            outputs[0][0] = inputs[0][:]
        if self.fault == "dtype":
            outputs[0][0] = outputs[0][0].astype("float32")


@pytest.mark.parametrize("fault, error", [("writes", BadDestroyMap), ("view", BadDestroyMap), ("dtype", InvalidValueError), ("", None),
                                          ("writes by its map", None), ("view by its map", None)])
def test_what_perform_does_with_its_inputs(fault, error):
    x = T.dvector("x")
    y = Doubled(fault)(x) + 1
    f = theano.function([x], y, mode="DebugMode")
    if error is None:
        assert f([1, 2]).tolist() == [3, 5]
    else:
        with pytest.raises(error, match="Doubled"):
            f([1, 2])
    for mode in (None, DebugMode(check_py_code=False)):  # perform gets copies: the function is right nevertheless
        assert theano.function([x], y, mode=mode)([1, 2]).tolist() == [3, 5]


def test_an_output_that_is_an_input():
    same = theano.compile.ops.as_op([T.dvector], [T.dvector], infer_shape=lambda node, shapes: shapes)(lambda a: a)
    x = T.dvector("x")
    assert theano.function([x], same(x))([1]).tolist() == [1]
    with pytest.raises(BadViewMap, match="output 0 of perform is memory of input 0"):
        theano.function([x], same(x), mode="DebugMode")([1])


@pytest.mark.parametrize("fault, error", [('at fault: the rewrite rule "log-exp" (log(exp(x)) -> x)', BadOptimization),
                                          ("at fault: together, the rewrite rules a, b", BadOptimization),
                                          ("at fault: the rewriting, but no rule", BadOptimization),
                                          ("at fault: the compiled code of the kernel\n  rewrite", BadThunkOutput)])
def test_errors_of_verified_calls_are_those_of_theano(fault, error):
    x = T.dvector("x")
    f = theano.function([x], x + 1, mode="DebugMode")
    for kind in (BadOptimization, BadThunkOutput):
        assert issubclass(kind, (DebugModeError,)) and issubclass(kind, croton.VerificationError)
    explained = f._explain(croton.VerificationError("f: output 0: element [0] is 3 where 2 is exact.\n" + fault), [], {})
    assert type(explained) is error and fault in str(explained)
    assert issubclass(StochasticOrder, DebugModeError)
    plain = croton.VerificationError(fault)
    assert theano.function([x], x + 1)._explain(plain, [], {}) is plain


def test_all_kinds_of_functions():
    x, s = T.dvector("x"), T.dscalar("s")
    assert theano.function([x], {"y": x + 1}, mode="DebugMode")([1])["y"].tolist() == [2]
    counts = theano.function([theano.In(s, value=0.0, update=s + 1)], s, mode="DebugMode")
    assert [float(counts()), float(counts())] == [0, 1]
    logs = theano.function([theano.In(s, value=-1.0, update=s + 1)], T.log(s), mode="DebugMode")
    with pytest.raises(InvalidValueError):
        logs()
    f = theano.function([x], x + 1, mode="DebugMode")
    for g in (f, f.copy(), pickle.loads(pickle.dumps(f))):
        assert np.array_equal(np.ravel(g([1])), [2]) and len(g.verification().outputs) == 1
