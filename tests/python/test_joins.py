"""Joining, splitting, repeating, padding and indexing of arrays, each against NumPy, on every back-end."""

import numpy as np
import pytest

import croton
import croton.tensor as T

MODES = ["run", "simulate", "reference"]
A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
EMPTY = np.zeros((0, 4), np.float32)


def computed(mode, outputs, *pairs):
    """The values of one or more outputs, compiled as one function."""
    with croton.change_flags(mode=mode):
        function = croton.function([x for x, _ in pairs], outputs, on_unused_input="ignore")
        return function(*[value for _, value in pairs])


def check(mode, cases, *pairs):
    """cases: (expression, NumPy's value)."""
    results = computed(mode, [expression for expression, _ in cases], *pairs)
    for i, (result, (_, expected)) in enumerate(zip(results, cases)):
        expected = np.asarray(expected)
        assert result.dtype == expected.dtype, i
        assert result.shape == expected.shape, i
        np.testing.assert_array_equal(result, expected, err_msg=str(i))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("a", [M, M[:1], EMPTY, M[::-1, ::-1], M.T.copy().T])
def test_joining_and_cutting(mode, a):
    x, y = T.fmatrix("x"), T.imatrix("y")
    i = np.asfortranarray(np.arange(a.size, dtype=np.int32).reshape(a.shape))
    check(mode, [
        (T.concatenate([x, x * 2, x]), np.concatenate([a, a * 2, a])),
        (T.concatenate([x, x + 1], axis=1), np.concatenate([a, a + 1], axis=1)),
        (T.concatenate([x, y], axis=-1), np.concatenate([a, i.astype(np.float64)], axis=-1)),
        (T.join(0, x, x), np.concatenate([a, a])),
        (T.stack([x, x * 3]), np.stack([a, a * 3])),
        (T.stack([x, x * 3], axis=2), np.stack([a, a * 3], axis=2)),
        (T.stack(x[0:1], x[0:1]), np.stack([a[0:1], a[0:1]])),
        (T.tile(x, (2, 3)), np.tile(a, (2, 3))),
        (T.tile(x, 2), np.tile(a, 2)),
        (T.tile(x, (2, 1, 2)), np.tile(a, (2, 1, 2))),
        (T.repeat(x, 3), np.repeat(a, 3)),
        (T.repeat(x, 2, axis=0), np.repeat(a, 2, axis=0)),
        (T.repeat(x, 0, axis=1), np.repeat(a, 0, axis=1)),
        (T.roll(x, 1), np.roll(a, 1)),
        (T.roll(x, -7, axis=1), np.roll(a, -7, axis=1)),
        (T.roll(x, 2, axis=0), np.roll(a, 2, axis=0)),
        (T.flip(x), np.flip(a)),
        (T.flip(x, 1), np.flip(a, 1)),
        (T.flip(x, (0, -1)), np.flip(a, (0, -1))),
        (T.diff(x), np.diff(a)),
        (T.diff(x, n=2, axis=1), np.diff(a, n=2, axis=1)),
    ], (x, a), (y, i))


@pytest.mark.parametrize("mode", MODES)
def test_split(mode):
    x, s, n = T.fmatrix("x"), T.lvector("s"), T.lscalar("n")
    parts = (T.split(x, [1, 0, 3], 3, axis=1) + T.split(x, s, 2, axis=1) + T.split(x, 2, axis=1)
             + T.split(x, [n, 4 - n], axis=1))
    wanted = np.split(M, [1, 1], axis=1) + np.split(M, [3], axis=1) + np.split(M, 2, axis=1) + np.split(M, [1], axis=1)
    check(mode, list(zip(parts, wanted)), (x, M), (s, [3, 1]), (n, 1))
    with pytest.raises(ValueError, match="add up"):
        computed(mode, T.split(x, s, 2, axis=1), (x, M), (s, [3, 2]))
    with pytest.raises(ValueError):
        computed(mode, T.split(x, [1, 1], axis=1), (x, M))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad(mode, how):
    x = T.fmatrix("x")
    cases = [1, (2, 0), [(0, 3), (5, 1)], [(0, 0), (9, 8)]]
    for a in (M, M[:1, :1], M[::2, ::-1]):
        check(mode, [(T.pad(x, width, how), np.pad(a, width, how)) for width in cases], (x, a))
    if how == "constant":
        check(mode, [(T.pad(x, 2, constant_values=7), np.pad(EMPTY, 2, constant_values=7))], (x, EMPTY))
    else:
        with pytest.raises(IndexError, match="no elements"):
            computed(mode, T.pad(x, 1, how), (x, EMPTY))


@pytest.mark.parametrize("mode", MODES)
def test_axes(mode):
    x, v = T.ftensor3("x"), T.fvector("v")
    check(mode, [
        (T.expand_dims(x, (0, -1)), np.expand_dims(A, (0, -1))),
        (T.squeeze(x[:1, None]), np.squeeze(A[:1, None], 1)),
        (T.squeeze(x[:, None, :, :, None], (1, -1)), A),
        (T.atleast_3d(v), np.reshape(M[0], (1, 1, 4))),
        (T.atleast_2d(v), np.atleast_2d(M[0])),
        (T.atleast_1d(v[0]), M[0, :1]),
        (T.atleast_Nd(v, 3, left=False), M[0].reshape(4, 1, 1)),
        (T.moveaxis(x, 0, 2), np.moveaxis(A, 0, 2)),
        (T.moveaxis(x, (0, -1), (1, 0)), np.moveaxis(A, (0, -1), (1, 0))),
        (T.swapaxes(x, 0, -1), np.swapaxes(A, 0, -1)),
        (T.shape_padleft(v, 2), M[0].reshape(1, 1, 4)),
        (T.shape_padright(v), M[0].reshape(4, 1)),
        (T.shape_padaxis(x, 1), A[:, None]),
        (T.broadcast_to(v, (3, 4)), np.broadcast_to(M[0], (3, 4))),
        (T.addbroadcast(x[:1], 0) + x, A[:1] + A),
        (T.patternbroadcast(x[:, :1], (False, True, False)) * x, A[:, :1] * A),
        (T.unbroadcast(v, 0), M[0]),
        (T.specify_shape(x, (2, None, 4)), A),
        (T.full_like(x, 3), np.full_like(A, 3)),
        (T.full((2, 2), np.float32(1.5)), np.full((2, 2), 1.5, np.float32)),
        (T.empty_like(v), np.zeros(4, np.float32)),
    ], (x, A), (v, M[0]))
    assert T.specify_shape(x, (2, None, 4)).type == "f32[2, ?, 4]"
    with pytest.raises(ValueError):
        computed(mode, T.addbroadcast(v, 0), (v, M[0]))


@pytest.mark.parametrize("mode", MODES)
def test_ranges(mode):
    n, a, b = T.lscalar("n"), T.dscalar("a"), T.dscalar("b")
    for count in (0, 1, 2, 7):
        results = computed(mode, [T.linspace(a, b, n), T.linspace(a, b, n, endpoint=False), T.logspace(a, b, n),
                                  T.geomspace(a, b, n), T.linspace(0, 10, n, dtype="int32")], (n, count), (a, 0.25), (b, 3.0))
        wanted = [np.linspace(0.25, 3.0, count), np.linspace(0.25, 3.0, count, endpoint=False),
                  np.logspace(0.25, 3.0, count), np.geomspace(0.25, 3.0, count), np.linspace(0, 10, count, dtype=np.int32)]
        for result, expected in zip(results, wanted):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-14)
        if count > 1:
            assert results[0][-1] == 3.0
    for got, wanted in ((T.mgrid[0:2, 1:n:2], np.mgrid[0:2, 1:7:2]), (T.ogrid[:2, 1:n:2], np.ogrid[:2, 1:7:2])):
        check(mode, list(zip(got, wanted)), (n, 7))
    u, v = T.fvector("u"), T.ivector("v")
    p, q = np.arange(3, dtype=np.float32), np.arange(2, dtype=np.int32)
    check(mode, list(zip(T.meshgrid(u, v) + T.meshgrid(u, v, indexing="ij"),
                         [np.array(g) for g in list(np.meshgrid(p, q)) + list(np.meshgrid(p, q, indexing="ij"))])), (u, p), (v, q))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [0, 1, -1, 3, -5])
def test_diagonals(mode, k):
    x, v, t = T.fmatrix("x"), T.fvector("v"), T.ftensor3("t")
    check(mode, [
        (T.eye(3, 4, k), np.eye(3, 4, k, dtype=np.float32)),
        (T.eye(x.shape[0], dtype="int8"), np.eye(3, dtype=np.int8)),
        (T.identity(3), np.identity(3, np.float32)),
        (T.tri(3, 4, k), np.tri(3, 4, k, dtype=np.float32)),
        (T.tril(x, k), np.tril(M, k)),
        (T.triu(t, k), np.triu(A, k)),
        (T.diag(v, k), np.diag(M[0], k)),
        (T.diag(x, k), np.diag(M, k)),
        (T.diagonal(t, k, 1, 2), np.diagonal(A, k, 1, 2)),
        (T.diagonal(t, k, 2, 0), np.diagonal(A, k, 2, 0)),
        (T.trace(x, k), np.trace(M, k)),
        (T.fill_diagonal_offset(x, 7, k), np.where(np.eye(3, 4, k) > 0, np.float32(7), M)),
    ], (x, M), (v, M[0]), (t, A))
    cube = np.array(A[:, :2, :2])
    filled = cube.copy()
    np.fill_diagonal(filled, 9)
    check(mode, [(T.fill_diagonal(t, 9), filled)], (t, cube))


@pytest.mark.parametrize("mode", MODES)
def test_one_hot_and_positions(mode):
    i, j = T.ivector("i"), T.lmatrix("j")
    at, two = np.array([2, 0, -1, 1], np.int32), np.array([[0, 1], [2, 3]])
    check(mode, [
        (T.to_one_hot(i, 3), np.eye(3, dtype=np.float32)[at]),
        (T.one_hot(j, 4, "bool"), np.eye(4, dtype=bool)[two]),
        (T.ravel_multi_index((i % 3, i % 4), (3, 4)), np.ravel_multi_index((at % 3, at % 4), (3, 4))),
        (T.ravel_multi_index((i, i), (3, 4), mode="clip"), np.ravel_multi_index((at, at), (3, 4), mode="clip")),
        (T.ravel_multi_index((i, i * 3), (3, 4), mode="wrap"), np.ravel_multi_index((at, at * 3), (3, 4), mode="wrap")),
        *zip(T.unravel_index(j, (2, 2)), np.unravel_index(two, (2, 2))),
        (T.inverse_permutation(i + 1), np.argsort(at + 1)),
        (T.choose(i, [i * 0, i + 10, i * 2, i], mode="clip"), np.choose(at, [at * 0, at + 10, at * 2, at], mode="clip")),
        (T.choose(j, [1, 2, 3, 4]), np.choose(two, [1, 2, 3, 4]).astype(np.int8)),
    ], (i, at), (j, two))
    with pytest.raises(IndexError, match="index -1 is out of bounds for size"):  # as NumPy's message, not as an index
        computed(mode, T.ravel_multi_index((i, i), (3, 4)), (i, at))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 of size 3"):
        computed(mode, T.to_one_hot(i, 3), (i, np.array([0, 3], np.int32)))
    with pytest.raises(IndexError):
        computed(mode, T.unravel_index(j, (2, 1)), (j, two))
    with pytest.raises(IndexError, match="choose: 4 is not a choice; there are 2"):
        computed(mode, T.choose(i, [i, i]), (i, np.array([4], np.int32)))


INDICES = [
    np.s_[[2, 0, -1]], np.s_[:, [1, 1, 3]], np.s_[[0, 2], [1, -1]], np.s_[[[0], [2]], [1, 3]], np.s_[1, [0, 2]],
    np.s_[[0, 2], 3], np.s_[::-1, [0, 3]], np.s_[1:, [0, 3]], np.s_[None, [0, 1]], np.s_[[0, 1], None, [2, 3]],
    np.s_[..., [0]], np.s_[[], [1]], np.s_[np.array([[0, 1], [2, 0]])], np.s_[-1:0:-2, [2, 1]],
]


@pytest.mark.parametrize("mode", MODES)
def test_integer_arrays_as_indices(mode):
    x, t, i, k = T.fmatrix("x"), T.ftensor3("t"), T.lvector("i"), T.bvector("k")
    at, small = np.array([2, 0, -3]), np.array([1, -1, 0], np.int8)
    cases = [(x[index], M[tuple(np.array(e, int) if isinstance(e, list) else e for e in index)
                          if isinstance(index, tuple) else np.array(index, int)]) for index in INDICES]
    cases += [
        (x[i], M[at]), (x[i, k], M[at, small]), (x[:, k], M[:, small]), (x[i[:, None], k], M[at[:, None], small]),
        (t[k, :, i], A[small, :, at]), (t[k, 1], A[small, 1]), (t[:, i, k], A[:, at, small]), (t[0, :, i], A[0, :, at]),
        (t[1, i], A[1, at]), (t[k, ..., -1], A[small, ..., -1]), (t[None, k, 1:, i], A[None, small, 1:, at]),
        (x[T.arange(3), i + 1], M[np.arange(3), at + 1]), (x[x.shape[0] - 1 - T.arange(3)], M[::-1]),
        (T.take(x, i, axis=0), np.take(M, at, 0)), (T.take(x, [[5, -1]]), np.take(M, [[5, -1]])),
        (T.take(x, [[9, -9]], 1, mode="wrap"), np.take(M, [[9, -9]], 1, mode="wrap")),
        (T.take(x, [9, -9], 0, mode="clip"), np.take(M, [9, -9], 0, mode="clip")),
        (T.take(x, 1, axis=1), np.take(M, 1, 1)),
        (T.take_along_axis(x, [[0], [3], [-1]], 1), np.take_along_axis(M, np.array([[0], [3], [-1]]), 1)),
        (T.take_along_axis(x, [[0, 1, 2, 0]], 0), np.take_along_axis(M, np.array([[0, 1, 2, 0]]), 0)),
        (x[np.array([True, False, True])], M[[True, False, True]]), (x[M > 2], M[M > 2]),
        (t[:, np.ones((3, 4), bool)], A[:, np.ones((3, 4), bool)]),
        (x[np.zeros(3, bool)], M[np.zeros(3, bool)]),
        (T.concatenate([x[i], x * 2])[1:5:3] + 1, np.concatenate([M[at], M * 2])[1:5:3] + 1),
    ]
    check(mode, cases, (x, M), (t, A), (i, at), (k, small))
    check(mode, [(T.sum(x[i] * 2, 1), (M[at] * 2).sum(1)), (T.max(t[:, i, k]), A[:, at, small].max()),
                 (T.sum(T.concatenate([x, x[i]]), 0), np.concatenate([M, M[at]]).sum(0))],
          (x, M), (t, A), (i, at), (k, small))
    with pytest.raises(IndexError, match="index 7"):
        computed(mode, T.sum(T.concatenate([x, x[i]]), 0), (x, M), (i, [0, 7]))
    for bad, axis, size in ((3, 0, 3), (-4, 0, 3)):
        line = "" if mode == "reference" else ".*test_joins.py"
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis {axis} of size {size}{line}"):
            computed(mode, x[i], (x, M), (i, [0, bad]))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 of size 4"):
        computed(mode, x[:, i], (x, M), (i, [4]))
    with pytest.raises(IndexError):
        computed(mode, x[i], (x, EMPTY), (i, [0]))
    # Positions that are not read are not checked.
    check(mode, [(T.concatenate([x[i], x]), EMPTY)], (x, EMPTY), (i, np.zeros(0, int)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("step", [1, 2, 5, -1, -3, -50])
def test_symbolic_steps(mode, step):
    x, s, a, b = T.fvector("x"), T.lscalar("s"), T.lscalar("a"), T.lscalar("b")
    v = M.reshape(-1)[:7]
    for start, stop in ((1, 5), (-2, 0), (6, -100), (100, 2), (0, 7)):
        check(mode, [(x[::s], v[::step]), (x[a::s], v[start::step]), (x[:b:s], v[:stop:step]),
                     (x[a:b:s], v[start:stop:step])], (x, v), (s, step), (a, start), (b, stop))
    check(mode, [(x[::s], v[:0])], (x, v[:0]), (s, step))
    with pytest.raises(ValueError, match="step"):
        computed(mode, x[::s], (x, v), (s, 0))


def put(a, index, value, add=False):
    a = a.copy()
    if add:
        np.add.at(a, index, value)
    else:
        a[index] = value
    return a


@pytest.mark.parametrize("mode", MODES)
def test_set_and_inc_subtensor(mode):
    x, y, s, i = T.fmatrix("x"), T.fvector("y"), T.lscalar("s"), T.lvector("i")
    v, at = np.array([1.5, 2.5, 3.5, 4.5], np.float32), np.array([2, 0, 2])
    cases = []
    for index in (np.s_[0], np.s_[1:3], np.s_[:], np.s_[::-2], np.s_[-1, ::-1], np.s_[None, 1:], np.s_[3:1], np.s_[..., :],
                  np.s_[[2, 0]], np.s_[[0, 0, 2]], np.s_[1:, [0, 3, 3, 1]], np.s_[None, [1], 1:][:2],
                  np.s_[[2, 0], None]):
        cases += [(T.set_subtensor(x[index], y), put(M, index, v)),
                  (T.inc_subtensor(x[index], y), put(M, index, v, add=True)),
                  (T.set_subtensor(x[index], 7), put(M, index, 7)),
                  (T.inc_subtensor(x[index], 1.5), put(M, index, 1.5, add=True))]
    cases += [
        (T.set_subtensor(x[s:, 1], 3), put(M, np.s_[2:, 1], 3)), (T.set_subtensor(x[::s], y), put(M, np.s_[::2], v)),
        (T.inc_subtensor(x[s, s], y[0]), put(M, (2, 2), v[0], add=True)),
        (T.set_subtensor(x[i], y), put(M, at, v)), (T.inc_subtensor(x[i], y), put(M, at, v, add=True)),
        (T.set_subtensor(x[i, i], y[:3]), put(M, (at, at), v[:3])),
        (T.inc_subtensor(x[i, 1:3], 2), put(M, np.s_[at, 1:3], 2, add=True)),
        (T.set_subtensor(x[:, i], 0), put(M, np.s_[:, at], 0)),
        (T.set_subtensor(x[M > 0], 0), put(M, M > 0, 0)),
        (T.set_subtensor(x[1:].T, 2), put(M, np.s_[1:], 2)),
        (T.set_subtensor(T.set_subtensor(x[0], 1)[:, 1], y[:3]), put(put(M, 0, 1), np.s_[:, 1], v[:3])),
    ]
    check(mode, cases, (x, M), (y, v), (s, 2), (i, at))
    n = T.ivector("n")
    whole = np.arange(5, dtype=np.int32)
    check(mode, [(T.set_subtensor(n[1:3], 1.9), put(whole, np.s_[1:3], 1)), (T.inc_subtensor(n[0], 2.5), put(whole, 0, 2))],
          (n, whole))
    for wrong in (x, x + 1, T.exp(x[0]), x.T):
        with pytest.raises(TypeError, match="indexing expression"):
            T.set_subtensor(wrong, 0)
    with pytest.raises(TypeError):
        T.set_subtensor(x[0], x)
    with pytest.raises(ValueError):
        computed(mode, T.set_subtensor(x[0], y[:3]), (x, M), (y, v))
    with pytest.raises(IndexError):
        computed(mode, T.set_subtensor(x[i], 1), (x, M), (i, [3]))


@pytest.mark.parametrize("mode", ["run", "simulate"])
def test_updates_by_set_subtensor_in_place(mode):
    w, y = croton.shared(M.copy(), "w"), T.fmatrix("y")
    with croton.change_flags(mode=mode):
        step = croton.function([y], [], updates=[(w, T.inc_subtensor(w[1:3], y))])
        step(M[:2])
        step(M[:2])
    np.testing.assert_array_equal(w.get_value(), put(put(M, np.s_[1:3], M[:2], True), np.s_[1:3], M[:2], True))


def test_gradients_of_joins_and_indexing():
    x, i = T.fmatrix("x"), np.array([2, 0, 2])
    weights = np.arange(24, dtype=np.float32).reshape(6, 4)

    def gradient(y, w):
        return computed("run", croton.grad(T.sum(y * w), x), (x, M))

    np.testing.assert_array_equal(gradient(T.concatenate([x, x]), weights), weights[:3] + weights[3:])
    np.testing.assert_array_equal(gradient(x[i], weights[:3]), put(M * 0, i, weights[:3], True))
    np.testing.assert_array_equal(gradient(T.set_subtensor(x[1], 5), weights[:3]), put(weights[:3], 1, 0))


@pytest.mark.parametrize("mode", MODES)
def test_masks(mode):
    x, v = T.fmatrix("x"), T.vector("v", dtype="bool")
    rows, chosen = np.array([True, False, True]), M > 2
    y = T.set_subtensor(x[x > 2], 0)
    results = computed(mode, [x[x > 2], x[v], x[v, 1:], x[..., x[0] > 1], y, croton.grad(T.sqr(x[x > 2]).sum(), x)],
                       (x, M), (v, rows))
    expected = [M[chosen], M[rows], M[rows, 1:], M[..., M[0] > 1], np.where(chosen, 0, M), np.where(chosen, 2 * M, 0)]
    for result, value in zip(results, expected):
        np.testing.assert_array_equal(result, value)
    with pytest.raises((croton.ShapeError, croton.IndexError)):
        computed(mode, x[v], (x, M), (v, np.array([True, True])))


def test_other_refusals():
    x = T.fmatrix("x")
    with pytest.raises(TypeError):
        x[T.fvector("f")]
    with pytest.raises(TypeError):
        x[[0], [0], [0]]
    with pytest.raises(TypeError):
        T.concatenate([x, T.fvector("v")])
    with pytest.raises(ValueError):
        T.concatenate([x, x], axis=2)
    with pytest.raises(ValueError):
        T.concatenate([])
    with pytest.raises(ValueError):
        T.pad(x, -1)
    with pytest.raises(ValueError):
        T.pad(x, 1, "mirror")
    with pytest.raises(TypeError):
        T.take(x, T.fvector("f"))
