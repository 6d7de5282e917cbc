"""Behaviour of programs for several GPUs in Theano and in Croton (docs/use/programs.md, table C0): messages are
compared whole."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import croton
import croton.theano as theano
import croton.theano.gpuarray
import croton.theano.sandbox.cuda
import croton.theano.tensor as T


@pytest.fixture
def two_gpus():
    with croton.change_flags(cuda_simulator=2):
        yield


NAMES = ["gpu,0", "gpu0", "gpu:0", "/gpu:0", "cuda", "gpu", "cuda0"]


@pytest.mark.parametrize("name", NAMES)
def test_c0_1_use_takes_the_old_names(name):
    text = ("from croton import theano; theano.install(); import theano.sandbox.cuda; "
            f"print(theano.sandbox.cuda.use({name!r}), theano.config.device)")
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True,
                           env={**os.environ, "CROTON_FLAGS": "cuda_simulator=2"})
    assert found.stdout == "None cuda0\n"
    assert re.search(r"^Mapped name None to device cuda0: simulated GPU \(.*\)$", found.stderr, re.MULTILINE), found.stderr


def test_c0_1_another_name_lists_the_devices(two_gpus):
    with pytest.raises(croton.DeviceError) as error:
        theano.sandbox.cuda.use("gpu7")
    assert "there is no device cuda7; there are: cpu, cuda0 (simulated), cuda1 (simulated)" in str(error.value)


def test_c0_2_shared_constructor_on_the_gpu(two_gpus):
    value = np.asarray([1, 2, 3], dtype="float32")
    x = theano.gpuarray.shared_constructor(value, target="gpu")
    assert (x.target, x.dtype, x.ndim) == ("cuda0", "float32", 1)
    value[0] = 9
    assert x.get_value().tolist() == [1, 2, 3]


def test_c0_3_the_flag_device_says_where_functions_run(two_gpus):
    x = theano.gpuarray.shared_constructor(np.asarray([1, 2, 3], dtype="float32"), target="gpu")
    f = theano.function([], x * 2)
    assert f().tolist() == [2, 4, 6] and f().dtype == np.float32
    (kernel,) = f.kernels()
    assert kernel.target == "cuda:sm_90" and "CT_KERNEL void" in kernel.source and "__global__" in kernel.unit
    compiled = f.counts().compiled + f.counts().cached
    with theano.gpuarray.change_flags(device="cuda1"):
        assert f().tolist() == [2, 4, 6]
        assert [(t.target, t.bytes) for t in f.transfers()] == [("cuda1", 12), ("cpu", 12)] and x.target == "cuda0"
        before = f.counts()
        f()
        after = f.counts()
        assert after.compiled == before.compiled and after.transfers - before.transfers == 1  # the result, to the host
    assert theano.config.device != "cuda1" and f.counts().compiled + f.counts().cached >= compiled


def test_c0_5_the_mlp_with_floatX_float64():
    x, w = T.matrix("x"), theano.shared(np.ones((3, 2), "float32"), "w")
    loss = T.mean(T.dot(x, w))
    with pytest.raises(TypeError) as error:
        theano.function([x], loss, updates=[(w, w - 0.1 * T.grad(loss, w) * T.sum(x))])
    text = str(error.value)
    assert text.startswith("An update must have the same type as the original shared variable (shared_var=w, "
                           "shared_var.type=TensorType(float32, matrix), update_val=")
    assert text.endswith("The update is float64, the variable float32: set floatX=float32, or cast the update by "
                         ".astype('float32').")


def test_c0_6_labels_of_another_dtype():
    y = T.ivector("y")
    f = theano.function([y], y * 2)
    with pytest.raises(TypeError) as error:
        f(np.arange(3))
    text = re.sub(r"\([^()]*\.py:\d+\)", "(FILE)", str(error.value))
    assert text == ("Bad input argument to theano function at index 0 (0-based). y is i32[?] (FILE) was given i64[3]: "
                    "converting int64 to int32 may lose precision; pass allow_input_downcast, or convert with astype to "
                    "int32")
    assert theano.function([y], y * 2, allow_input_downcast=True)(np.arange(3)).tolist() == [0, 2, 4]


def test_c0_7_an_output_that_is_an_array():
    x = T.matrix("x")
    y_pred = theano.function([x], x * 2)(np.ones((1, 2)))
    with pytest.raises(TypeError) as error:
        theano.function(inputs=[x], outputs=y_pred)
    assert str(error.value) == (
        "Outputs must be theano Variable or Out instances. Received array([[2., 2.]]) of type <class 'numpy.ndarray'>: "
        "output 1 of 1 is a NumPy array; was the symbolic variable of that name overwritten, by a result perhaps?")


def test_c0_8_matpow_has_a_factor_more():
    def matpow(m, n):
        return m if n < 1 else T.dot(m, matpow(m, n - 1))

    a = np.random.RandomState(0).rand(4, 4)
    x = T.matrix("x")
    np.testing.assert_allclose(theano.function([x], matpow(x, 10))(a), np.linalg.matrix_power(a, 11), rtol=1e-12)
    np.testing.assert_allclose(theano.function([x], T.nlinalg.matrix_power(x, 10))(a), np.linalg.matrix_power(a, 10),
                               rtol=1e-12)
