"""Running sums, sorting, searching and results of computed size, against NumPy."""

import numpy as np
import pytest

import croton
import croton.tensor as T

A = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, -1.0, np.nan, 5.0]], np.float32)
I = np.array([3, 0, 3, 1], np.int32)
MODES = ["run", "simulate", "reference"]


def computed(expression, value):
    x = (T.matrix if value.ndim == 2 else T.vector)("x", dtype=value.dtype.name)
    outputs = expression(x)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    return croton.function([x], outputs)(value)


def check(ours, theirs, value=A):
    expected = theirs(value)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for got, wanted in zip(computed(ours, value), expected, strict=True):
        wanted = np.asarray(wanted)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.fixture(params=MODES, autouse=True)
def mode(request):
    with croton.change_flags(mode=request.param):
        yield request.param


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_running_sums_and_sorting_are_numpys(axis):
    check(lambda x: T.cumsum(x, axis), lambda a: np.cumsum(a, axis))
    check(lambda x: x.cumprod(axis), lambda a: np.cumprod(a, axis))
    check(lambda x: T.sort(x, axis), lambda a: np.sort(a, axis))
    check(lambda x: x.argsort(axis), lambda a: np.argsort(a, axis, kind="stable"))


def test_searching():
    check(lambda x: T.searchsorted(x, I), lambda a: np.searchsorted(a, I), np.array([0, 1, 1, 4], np.int32))
    check(lambda x: T.searchsorted(x, 1, side="right"), lambda a: np.searchsorted(a, 1, side="right"),
          np.array([0, 1, 1, 4], np.int32))
    check(lambda x: T.searchsorted(x, I, sorter=T.argsort(x)), lambda a: np.searchsorted(a, I, sorter=np.argsort(a)), I)
    with pytest.raises(ValueError):
        T.searchsorted(T.vector(), 1, side="middle")


def test_positions_of_what_is_not_zero():
    check(T.nonzero, np.nonzero)
    check(lambda x: T.nonzero(x, return_matrix=True), lambda a: np.array(np.nonzero(a)))
    check(T.flatnonzero, np.flatnonzero)
    check(T.nonzero_values, lambda a: a[np.nonzero(a)])
    check(lambda x: T.compress([True, False, True], x, axis=1), lambda a: np.compress([True, False, True], a, axis=1))
    check(lambda x: T.extract(x > 1, x), lambda a: np.extract(a > 1, a))


def test_unique_bincount_repeat():
    check(lambda x: T.unique(x, True, True, True), lambda a: np.unique(a, True, True, True), I)
    check(T.unique, np.unique)
    check(lambda x: T.unique(x, axis=1), lambda a: np.unique(a, axis=1))
    check(T.bincount, np.bincount, I)
    check(lambda x: T.bincount(x, minlength=7), lambda a: np.bincount(a, minlength=7), I)
    check(lambda x: T.repeat(x, 2), lambda a: np.repeat(a, 2))
    check(lambda x: x.repeat([1, 0, 2, 1], axis=1), lambda a: np.repeat(a, [1, 0, 2, 1], axis=1))


def test_topk():
    values, positions = computed(lambda x: T.topk_and_argtopk(x, 2, axis=0, idx_dtype="int32"), A)
    np.testing.assert_array_equal(values, [[3, 1, np.nan, 5], [0, -1, 2, 1]])
    assert positions.dtype == np.int32
    np.testing.assert_array_equal(computed(lambda x: T.topk(x, -1), A)[0], [[1], [-1]])
    x, k = T.matrix(), T.iscalar()
    first = croton.function([x, k], T.topk(x, k, axis=0))
    np.testing.assert_array_equal(first(np.array([[1, 5], [4, 2]], "float32"), 1), [[4, 5]])
    np.testing.assert_array_equal(first(np.array([[1, 5], [4, 2]], "float32"), -1), [[1, 2]])


def test_kinds():
    T.sort(T.matrix(), kind="mergesort")
    with pytest.raises(ValueError, match="stably"):
        T.argsort(T.matrix(), kind="bogosort")
