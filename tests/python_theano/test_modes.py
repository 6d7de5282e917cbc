"""Modes of compilation: DebugMode compares each call with the original graph."""

import os
import subprocess
import sys

import numpy as np
import pytest

import croton.theano as theano
import croton.theano.tensor as T


def checked_results(mode=None):
    """The number of results that a call of a function of this mode compared."""
    x = T.dvector("x")
    w = theano.shared(np.ones(2), "w")
    f = theano.function([x], [T.exp(x), w * x], updates=[(w, w + x)], mode=mode)
    assert f.verification().outputs == []
    assert f([0, 1])[1].tolist() == [0, 1] and w.get_value().tolist() == [1, 2]
    return len(f.verification().outputs)


@pytest.mark.parametrize("mode", ["DebugMode", "DEBUG_MODE", theano.compile.debugmode.DebugMode, theano.compile.DebugMode])
def test_debug_mode_compares_every_call(mode):
    assert checked_results(mode if isinstance(mode, str) else mode()) == 3
    assert checked_results() == 0 and checked_results("FAST_RUN") == 0  # no other function compares results


def test_debug_mode_as_a_setting():
    with theano.config.change_flags(mode="DebugMode"):
        assert checked_results() == 3
    assert checked_results() == 0
    program = ("import croton.theano as theano, croton.theano.tensor as T\nx = T.dscalar()\nf = theano.function([x], x + 1)\nf(1)\n"
               "print(len(f.verification().outputs))")
    for name in ("DebugMode", "DEBUG_MODE", "FAST_RUN"):
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "THEANO_FLAGS": f"mode={name}"}, capture_output=True, text=True)
        assert done.stdout.strip() == ("0" if name == "FAST_RUN" else "1"), done.stderr


def test_debug_mode_keeps_what_is_asked_of_the_optimizer():
    mode = theano.compile.DebugMode(optimizer="fast_compile")
    assert mode.optimizer == "fast_compile" and checked_results(mode) == 3


def test_a_flag_that_is_nearly_another_one_is_said():
    program = "import croton.theano as theano; print(theano.config.mode)"
    for text, said in (("mdoe=DebugMode", "there is no flag mdoe; did you mean mode?"),
                       ("DebugMode.check_finit=False", "did you mean DebugMode.check_finite?"),
                       ("optimizer_requiring=x,some.other=3", "")):
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "THEANO_FLAGS": text}, capture_output=True, text=True)
        assert done.stdout.strip() == "Mode" and (said in done.stderr if said else not done.stderr), done
