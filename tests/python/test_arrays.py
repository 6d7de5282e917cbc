"""Memory: nothing is copied on the way in or out, and both sides keep the memory alive that they use."""

import gc
import resource
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import croton
import croton.tensor as T


def address(array):
    return array.__array_interface__["data"][0]


class Watched(np.ndarray):
    """An array with weak references, to observe when it is freed."""


def test_borrowed_shared_memory_is_the_array_itself():
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    w = croton.shared(a, borrow=True)
    seen = w.get_value(borrow=True)
    assert np.shares_memory(a, seen) and address(a) == address(seen)
    assert not np.shares_memory(a, w.get_value())
    a[0, 0] = 42
    assert croton.function([], w.sum())() == a.sum()


def test_arguments_are_not_copied():
    x = T.fvector("x")
    f = croton.function([x], x[0])
    f(np.zeros(4, np.float32))
    big = np.ones(2**26, np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        assert f(big) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB; a copy takes 256 MiB


def test_strided_read_only_and_foreign_arrays():
    x = T.fmatrix("x")
    f = croton.function([x], x * 2)
    base = np.arange(48, dtype=np.float32).reshape(6, 8)
    frozen = base.copy()
    frozen.setflags(write=False)
    field = np.zeros((3, 2), dtype=[("tag", "i1"), ("value", "<f4")])["value"]  # strides of 5 bytes
    swapped = base.astype(">f4")
    for a in (base[::2, ::3], base[::-1, ::-1], base.T, np.broadcast_to(base[0], (4, 8)), frozen, field, base[:0],
              swapped):
        assert (f(a) == a * 2).all()
    assert (f(memoryview(base)) == base * 2).all()


def test_outputs_own_their_memory():
    x = T.fvector("x")
    f = croton.function([x], [x + 1, x * 2])
    first, second = f(np.arange(5000, dtype=np.float32))
    address_of_first = address(first)
    del f, second
    gc.collect()
    again = croton.function([x], x * 3)(np.arange(5000, dtype=np.float32))
    assert address(first) == address_of_first and not np.shares_memory(first, again)
    assert (first == np.arange(5000) + 1).all() and first.flags.writeable and not first.flags.owndata


def test_an_output_is_not_the_argument():
    x = T.fvector("x")
    a = np.zeros(3, np.float32)
    out = croton.function([x], x)(a)
    out[0] = 1
    assert a[0] == 0


def test_arguments_are_let_go_after_the_call():
    x = T.fvector("x")
    f = croton.function([x], x.sum())
    a = np.zeros(3, np.float32).view(Watched)
    gone = weakref.ref(a)
    f(a)
    del a
    gc.collect()
    assert gone() is None


def test_shared_memory_lives_as_long_as_the_variable():
    a = np.zeros(3, np.float32).view(Watched)
    gone = weakref.ref(a)
    w = croton.shared(a, borrow=True)
    del a
    gc.collect()
    assert gone() is not None
    w.set_value(np.ones(3, np.float32))
    gc.collect()
    assert gone() is None


def test_the_gil_is_free_during_a_call():
    x = T.dmatrix("x")
    y = x
    for _ in range(4):
        y = T.tanh(y) + T.exp(-y)
    with croton.change_flags(llvm_level=3):  # a call should take milliseconds, not seconds
        f = croton.function([x], y.sum())
        a = np.ones((2000, 2000))
        f(a)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # so that another thread runs only when the GIL is released
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        inside = 0
        for _ in range(20):
            start = time.perf_counter()
            f(a)
            end = time.perf_counter()
            inside += sum(start < t < end for t in list(ticks))
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert inside > 5


def test_calls_from_several_threads():
    x, total = T.fscalar("x"), croton.shared(np.int64(0))
    f = croton.function([x], x * 2, updates=[(total, total + 1)])
    wrong = []

    def work(k):
        wrong.extend(k for _ in range(50) if f(k) != 2 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == [] and total.get_value() == 200


def test_bfloat16_through_ml_dtypes():
    x = T.fvector("x")
    f = croton.function([x], x.astype("bfloat16"))
    a = np.array([1, 2.5], np.float32)
    try:
        import ml_dtypes
    except ImportError:
        assert "ml_dtypes" in str(pytest.raises(croton.TypeError, f, a).value)
        return
    out = f(a)
    assert out.dtype == ml_dtypes.bfloat16 and out.astype(np.float32).tolist() == [1, 2.5]
    y = T.vector("y", "bfloat16")
    assert croton.function([y], y.astype("float32"))(out).tolist() == [1, 2.5]


def test_import_does_not_load_llvm_and_exit_is_clean():
    program = """
import numpy, croton, croton.tensor as T
x = T.fvector("x")
kept = croton.shared(numpy.zeros(3, "float32"), borrow=True)  # let go at exit
maps = open("/proc/self/maps").read()
assert "libcroton.so" in maps and "LLVM" not in maps and "libcroton_llvm" not in maps
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "done", "")
