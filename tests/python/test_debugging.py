"""The verifying modes: mode=verify and nan_guard."""

import builtins

import numpy as np
import pytest

import croton
import croton.tensor as T


def test_nan_guard_names_the_op_and_changes_nothing():
    with croton.change_flags(nan_guard="all"):
        x = T.fvector("x")
        w = croton.shared(np.ones(2, "float32"), name="w")
        f = croton.function([x], T.sum(T.log(x)), updates=[(w, w + T.log(x))])
    assert f([1, 2]) == pytest.approx(np.log(2))
    before = w.get_value()
    with pytest.raises(croton.NanError, match=r"log \(test_debugging.py:\d+\) made 1 nan of 2 elements, the first at \[1\]"):
        f([1, -2])
    assert np.array_equal(w.get_value(), before)
    assert issubclass(croton.NanError, croton.Error) and issubclass(croton.NanError, builtins.ArithmeticError)


def test_verification():
    with croton.change_flags(mode="verify"):
        x = T.fmatrix("x")
        f = croton.function([x], T.sum(T.tanh(x), axis=1))
    assert f.verification().outputs == []
    f(np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3))
    (output,) = f.verification().outputs
    assert output.dtype == "float32" and output.shape == (2,) and len(output.index) == 1
    assert 0 <= output.fused_ulp <= output.allowed_ulp and output.unfused_ulp >= 0
    assert output.fused == pytest.approx(output.exact, abs=1e-5) == output.unfused
    assert "largest error in ULP" in str(f.verification())
    assert issubclass(croton.VerificationError, croton.Error)
