"""Arrays of other packages, by DLPack and __cuda_array_interface__; pickles of shared variables."""

import copy
import ctypes
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
    """An array that only supports DLPack."""

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

    with pytest.raises(croton.TypeError, match="__dlpack__ of Broken is not an array"):
        croton.from_dlpack(Broken())
    with pytest.raises(BufferError, match="not now"):
        croton.from_dlpack(Refuses())
    with pytest.raises(croton.TypeError, match="__dlpack__"):
        croton.from_dlpack([1, 2])


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class OldTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class VersionedTensor(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


class Capsule:
    """An object that exports a capsule with given contents, right or wrong."""

    MEMORY = (ctypes.c_float * 64)(*range(64))

    def __init__(self, shape=(2, 3), strides=None, versioned=False, major=1, **fields):
        numbers = lambda values: None if values is None else (ctypes.c_int64 * len(values))(*values)  # noqa: E731
        self._shape, self._strides = numbers(shape), numbers(strides)
        fields = {"data": ctypes.addressof(self.MEMORY), "device_type": 1, "ndim": len(shape or ()), "code": 2, "bits": 32, "lanes": 1, **fields}
        tensor = DLTensor(shape=self._shape, strides=self._strides, **fields)
        self._held = VersionedTensor(major=major, tensor=tensor) if versioned else OldTensor(tensor=tensor)
        self._name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self._held), self._name, None)


@pytest.mark.parametrize("versioned", [False, True])
def test_capsules_that_are_right(versioned):
    assert croton.from_dlpack(Capsule(versioned=versioned)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert croton.from_dlpack(Capsule((2, 2), (1, 4), versioned, byte_offset=8)).tolist() == [[2, 6], [3, 7]]
    assert croton.from_dlpack(Capsule((3,), (-1,), versioned, byte_offset=8)).tolist() == [2, 1, 0]
    assert croton.from_dlpack(Capsule((0, 2**40), versioned=versioned, data=None)).shape == (0, 2**40)
    assert croton.from_dlpack(Capsule(None, versioned=versioned)) == 0


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("kind, message, wrong", [
    (croton.ValueError, "no sizes", {"shape": None, "ndim": 2}), (croton.ValueError, "-1 dimensions", {"ndim": -1}),
    (croton.ValueError, "-2147483648 dimensions", {"ndim": -2**31}), (croton.ValueError, "65 dimensions", {"shape": (1,) * 65}),
    (croton.ValueError, "2147483647 dimensions", {"ndim": 2**31 - 1}), (croton.ValueError, "null pointer", {"data": None}),
    (croton.ShapeError, "negative size -3", {"shape": (2, -3)}), (croton.ShapeError, "more bytes", {"shape": (2**62, 4)}),
    (croton.ShapeError, "more bytes", {"shape": (2**32, 2**32)}), (croton.ValueError, "a stride of", {"strides": (2**62, 1)}),
    (croton.ValueError, "a stride of", {"strides": (-2**63, 1)}), (croton.ShapeError, "overflow", {"shape": (2**20, 2), "strides": (2**60, 1)}),
    (croton.ValueError, "an offset of", {"byte_offset": 2**64 - 4}), (croton.TypeError, "in 4 lanes", {"lanes": 4}),
    (croton.TypeError, "in 0 lanes", {"lanes": 0}), (croton.TypeError, "type 9 with 32 bits", {"code": 9}),
    (croton.TypeError, "type 2 with 31 bits", {"bits": 31}), (croton.DeviceError, "not on the host", {"device_type": 2})])
def test_capsules_that_are_wrong(versioned, kind, message, wrong):
    x = T.fmatrix("x")
    for take in (croton.from_dlpack, croton.shared, croton.function([x], x), T.exp):
        with pytest.raises(kind, match=message):
            take(Capsule(versioned=versioned, **wrong))


def test_capsules_of_other_versions_and_devices_that_are_none():
    with pytest.raises(croton.TypeError, match="is not an array"):
        croton.from_dlpack(Capsule(versioned=True, major=2))
    for device in ("cpu", (1,), (1, 0, 0), ("a", 0), None, [1, 0], (2**40, 0), 1):
        with pytest.raises(croton.TypeError, match="__dlpack_device__ of Lender gave .*, not a tuple"):
            croton.from_dlpack(Lender(np.zeros(2), device=device))


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
    for wrong in ({"shape": (-3,)}, {"shape": 3}, {"shape": ("a",)}, {"pointer": "a"}, {"pointer": None}, {"shape": (2**40, 2**40)},
                  {"strides": (1, 2)}, {"strides": (2**62,)}, {"strides": "a"}):
        given = {"pointer": 4096, "shape": (3,), "typestr": "<f8", **wrong}
        with pytest.raises(croton.TypeError, match="not understood"):
            croton.from_dlpack(OnGpu(**given))
    broken = OnGpu(4096, (3,), "<f8")
    for broken.__cuda_array_interface__ in ("a", None, 3, [], {}):
        with pytest.raises(croton.TypeError, match="not understood"):
            croton.from_dlpack(broken)
    assert croton.from_dlpack(OnGpu(0, (3, 0), "<f4")).shape == (3, 0)


def fake_driver():
    """The driver for tests, in the build folder of these tests, or where CROTON_TEST_FAKE_CUDA says; None if there is
    none."""
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


@pytest.mark.skipif(fake_driver() is None, reason="the driver for tests is not next to this package")
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
