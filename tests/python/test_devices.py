"""Pins, flags, scopes and transfers on simulated devices."""

import croton
import croton.tensor as T
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def two_devices():
    with croton.change_flags(cuda_simulator=2):
        yield


def test_devices():
    assert [d.name for d in croton.devices()] == ["cpu", "cuda0", "cuda1"]
    assert croton.devices()[1].kind == "simulated"
    assert "simulated" in str(croton.devices()[1])


def test_work_follows_the_flag_and_storage_stays():
    x = croton.shared(np.array([1, 2, 3], "float32"), name="x", target="gpu")
    assert x.home == "cuda0" and x.pinned
    f = croton.function([], x * 2)
    assert f().tolist() == [2, 4, 6]
    assert f.devices() == ["cuda0"]
    assert f.kernels()[0].target == "cuda:sm_90"
    with croton.change_flags(device="cuda1"):
        f()
        assert [(t.kind, t.what, t.source, t.target, t.bytes) for t in f.transfers()][0] == (
            "shared", "x", "cuda0", "cuda1", 12)
        compiled = f.counts().compiled
        f()
        assert [t.kind for t in f.transfers()] == ["output"]
        assert f.counts().compiled == compiled
        assert f.devices() == ["cuda1"]
    assert f.devices() == ["cuda0"]
    assert x.home == "cuda0"
    assert croton.shared_constructor(np.zeros(2, "float32"), target="gpu").home == "cuda0"


def test_scopes_and_transfers():
    a = T.matrix("a")
    with croton.device("/gpu:0"):
        left = T.dot(a, a)
        with croton.device("/gpu:1"):
            right = T.dot(a, a.T)
    with croton.device("cpu"):
        both = left + right
    f = croton.function([a], both)
    value = np.arange(9, dtype="float32").reshape(3, 3)
    np.testing.assert_allclose(f(value), value @ value + value @ value.T, rtol=1e-6)
    assert f.devices() == ["cpu", "cuda0", "cuda1"]
    assert "(dot): cuda1  [device_scope]" in f.placement()
    g = croton.function([a], croton.transfer(a, "cuda1") * 2)
    np.testing.assert_array_equal(g(value), value * 2)
    assert g.devices() == ["cuda1"]


def test_errors():
    a = T.vector("a")
    with croton.device("cuda7"):
        b = T.exp(a)
    with pytest.raises(croton.DeviceError, match="test_devices.py:.*cuda7.*cpu, cuda0, cuda1"):
        croton.function([a], b)
    with pytest.raises(croton.ValueError, match="not the name of a device"):
        croton.device("tpu").__enter__()
    with croton.change_flags(allow_soft_placement=True):
        assert croton.function([a], b)([0]).tolist() == [1]
