"""Arrays of other packages, by DLPack and __cuda_array_interface__; pickles of shared variables."""

import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

import croton
import croton.tensor as T


class Lender:
    """An array that can only be reached by DLPack."""

    def __init__(self, array, old=False, device=(1, 0)):
        self._array, self._old, self._device = array, old, device
        self.asked = []

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, **options):
        self.asked.append(dict(options))
        if self._old and options:
            raise TypeError("unexpected keyword argument")
        options.pop("dl_device", None)
        return self._array.__dlpack__(**options) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else self._array.__dlpack__()


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("dtype", "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
                         "complex128".split())
def test_dlpack_keeps_dtype_and_values(dtype, old):
    a = np.arange(12).reshape(3, 4).astype(dtype)
    if dtype == "bool" and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy lends no bool by DLPack")
    got = croton.from_dlpack(Lender(a, old))
    assert got.dtype == a.dtype and np.array_equal(got, a)
    x = croton.variable(dtype, (None, None), "x")
    assert np.array_equal(croton.function([x], x)(Lender(a, old)), a)


def test_strided_and_empty_arrays():
    a = np.arange(24.0).reshape(4, 6)
    for view in (a.T, a[::2, ::-3], a[:0], np.array(3.5)):
        assert np.array_equal(croton.from_dlpack(Lender(view)), view)


def test_large_arrays_are_not_copied_and_are_given_back():
    class Watched(np.ndarray):
        pass

    a = np.zeros(5000).view(Watched)
    watch = weakref.ref(a)
    got = croton.from_dlpack(Lender(a))
    a[7] = 3
    assert got[7] == 3 and np.shares_memory(got, a) and not got.flags.writeable
    del a
    gc.collect()
    assert watch() is not None and got[7] == 3
    del got
    gc.collect()
    assert watch() is None


def test_lenders_are_arguments_and_values():
    a = np.array([1, 2, 3], np.float32)
    x = T.fvector("x")
    f = croton.function([x], x * 2)
    assert f(Lender(a)).tolist() == [2, 4, 6] and f(x=Lender(a)).tolist() == [2, 4, 6]
    w = croton.shared(Lender(a), "w")
    a[:] = 0
    assert w.get_value().tolist() == [1, 2, 3] and w.dtype == "float32"
    w.set_value(Lender(np.array([5, 6], np.float32)))
    assert w.get_value().tolist() == [5, 6]
    assert croton.constant(Lender(np.array([7.0]))).eval().tolist() == [7]
    with pytest.raises(TypeError, match="float64"):
        f(Lender(np.zeros(3)))


def test_outputs_can_be_lent():
    x = T.dvector("x")
    y = croton.function([x], x + 1)(np.zeros(3))
    assert y.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(y).tolist() == [1, 1, 1]
    assert croton.from_dlpack(y).tolist() == [1, 1, 1]


def test_arrays_on_devices_are_asked_to_come_to_the_host():
    a = np.array([1.0, 2.0])
    lender = Lender(a, device=(2, 0))
    assert croton.from_dlpack(lender).tolist() == [1, 2]
    assert lender.asked[0]["dl_device"] == (1, 0)
    with pytest.raises(croton.DeviceError, match=r"device \(2, 0\).*does not copy it to the host"):
        croton.from_dlpack(Lender(a, old=True, device=(2, 0)))


def test_what_is_lent_wrongly():
    class Broken:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            return 3

    class Refuses(Broken):
        def __dlpack__(self, **options):
            raise BufferError("not now")

    with pytest.raises(croton.TypeError, match="__dlpack__ of Broken returned is no array"):
        croton.from_dlpack(Broken())
    with pytest.raises(BufferError, match="not now"):
        croton.from_dlpack(Refuses())
    with pytest.raises(croton.TypeError, match="__dlpack__"):
        croton.from_dlpack([1, 2])


class OnGpu:
    """An array on a CUDA device, as other packages describe theirs."""

    def __init__(self, pointer, shape, typestr, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (pointer, False), "version": 3, **more}


def test_without_a_driver_the_error_names_it():
    with croton.change_flags(cuda_driver="/nowhere/libcuda.so.1"):
        x = T.dvector("x")
        f = croton.function([x], x)
        for take in (f, croton.shared, croton.from_dlpack, croton.shared(np.zeros(3)).set_value):
            with pytest.raises(croton.DeviceError, match="CUDA driver is missing: /nowhere/libcuda.so.1"):
                take(OnGpu(4096, (3,), "<f8"))


def test_descriptions_that_are_not_understood():
    with pytest.raises(croton.TypeError, match="mask"):
        croton.from_dlpack(OnGpu(4096, (3,), "<f8", mask=object()))
    with pytest.raises(croton.TypeError, match="not understood"):
        croton.from_dlpack(OnGpu(4096, (3,), "nonsense"))
    assert croton.from_dlpack(OnGpu(0, (3, 0), "<f4")).shape == (3, 0)


def fake_driver():
    """The driver for tests, in the build folder that these tests run from, or where CROTON_TEST_FAKE_CUDA says; else none."""
    library = pathlib.Path(os.environ.get("CROTON_TEST_FAKE_CUDA", pathlib.Path(croton.__file__).parents[2] / "fake_cuda"))
    library /= "libcroton_fake_cuda.so"
    return library if library.exists() else None


COPY = """
import ctypes, sys
import numpy as np
import croton

driver = ctypes.CDLL(sys.argv[1])
def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    assert code == 0, (name, code)

context, stream, pool, memory = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuStreamCreate", ctypes.byref(stream), 1)
call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), 0)
there = np.arange(24, dtype=np.float32).reshape(4, 6)
call("cuMemAllocFromPoolAsync", ctypes.byref(memory), ctypes.c_size_t(there.nbytes), pool, stream)
pinned = ctypes.c_void_p()
call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(there.nbytes), 1)
ctypes.memmove(pinned, there.ctypes.data, there.nbytes)
call("cuMemcpyHtoDAsync_v2", memory, pinned, ctypes.c_size_t(there.nbytes), stream)

class OnGpu:
    def __init__(self, shape, offset=0, strides=None):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (memory.value + offset, False), "version": 3,
                                         "strides": strides, "stream": stream.value}

with croton.change_flags(cuda_driver=sys.argv[1]):
    assert np.array_equal(croton.from_dlpack(OnGpu((4, 6))), there)
    assert np.array_equal(croton.from_dlpack(OnGpu((6, 4), strides=(4, 24))), there.T)
    assert np.array_equal(croton.from_dlpack(OnGpu((2, 3), 4 * 23, (-48, -8))), there[::-2, ::-2])
    assert np.array_equal(croton.shared(OnGpu((24,))).get_value(), there.ravel())
    try:
        croton.from_dlpack(OnGpu((4, 6), 1 << 40))
    except croton.DeviceError as error:
        assert "CUDA driver failed with error" in str(error), error
    else:
        raise AssertionError("memory that is not there was copied")
print("copied")
"""


@pytest.mark.skipif(fake_driver() is None, reason="the driver for tests is not beside this package")
def test_arrays_are_copied_from_a_device():
    done = subprocess.run([sys.executable, "-c", COPY, str(fake_driver())], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "copied\n", done.stdout + done.stderr


def test_shared_variables_are_pickled():
    w = croton.shared(np.array([[1.5, 2.5]]), "w", broadcastable=[True, False])
    again = pickle.loads(pickle.dumps(w))
    assert isinstance(again, croton.SharedVariable) and again is not w and again != w
    assert again.get_value().tolist() == [[1.5, 2.5]] and again.name == "w" and again.dtype == "float64"
    assert again.broadcastable == (True, False) and not again.pinned
    w.set_value(np.zeros((1, 2)))
    assert again.get_value().tolist() == [[1.5, 2.5]]
    twice = copy.deepcopy([again, again])
    assert twice[0] is twice[1] and twice[0].get_value().tolist() == [[1.5, 2.5]]


def test_pickles_keep_the_device():
    with croton.change_flags(cuda_simulator=2):
        w = croton.shared(np.arange(3.0), "w", target="cuda1")
        data = pickle.dumps(w)
        again = pickle.loads(data)
        assert again.home == "cuda1" and again.pinned
    with pytest.warns(RuntimeWarning, match="variable w was stored on cuda1, which this machine does not have"):
        lost = pickle.loads(data)
    assert lost.home == "cpu" and not lost.pinned and lost.get_value().tolist() == [0, 1, 2]


def test_nothing_is_warned_of_where_the_device_is_there():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(croton.shared(1.0)))
        pickle.loads(pickle.dumps(croton.shared(1.0, target="cpu")))
