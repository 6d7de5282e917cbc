"""Indexing: x[...], positions, and parts replaced."""

import numpy as np

from samples import awkward, between, only, permutation, plain, whole
from table import MATRIX, VECTOR, call, row, twice

EXACT = dict(wide=False, zero_sign=True)
DTYPES = ["float32", "float64", "int8", "int64", "bool", "complex64"]
BAD = np.ones((2, 3))
FULL = (((5, 7),), ((5, 7),))


def at(*index):
    """x[index] as an operation: `getitem` on the page."""
    return call(index)


SLICES = [
    at(1),
    at(-2),
    at(slice(1, None)),
    at(slice(None, None, -1)),
    at(slice(4, 0, -2), slice(1, 5)),
    at(Ellipsis, 2),
    at(None, 3, None),
    at(slice(-9, 99)),
    at(slice(3, 3)),
    at(2, -1),
    at(slice(None), slice(6, None, -3))
]
ARRAYS = [
    at([3, 0, 3, -1]),
    at(slice(None), [1, -7]),
    at([0, 4], [6, -1]),
    at([[0], [2]], [1, 5, 1]),
    at([1, 2], slice(2, 4)),
    at(None, [0, 1], slice(1, 3))
]


def getitem(x, index):
    return x[tuple(np.array(i) if isinstance(i, list) else i for i in index)]


row(
    "Variable.__getitem__", getitem, shapes=FULL, calls=SLICES + ARRAYS, dtypes=DTYPES,
    build=lambda f, x, i: getitem(x, i), **EXACT, refusals=[([BAD], at(2)), ([BAD], at(0, -4)), ([BAD], at([0, 2])),
                                                            ([BAD], at(0, 0, 0)), ([BAD], at(slice(None), [3]))])
row("Variable.__getitem__", lambda x, i: x[i], awkward, whole(-5, 4), shapes=(((5, 7), (6, )), ), dtypes=DTYPES,
    build=lambda f, x, i: x[i], **EXACT)
row("Variable.__getitem__", lambda x, m: x[m], awkward, only("bool", between(-1, 0), "positions"),
    shapes=(((5, 7), (5, 7)), ((1, 1), (1, 1)), ((0, 2), (0, 2))), dtypes=DTYPES, build=lambda f, x, m: x[m], **EXACT)

INDICES = whole(-4, 4)
MODES = [call(), call(axis=0), call(axis=0, mode="wrap"), call(axis=1, mode="clip"), call(mode="wrap")]
row(
    "take", np.take, awkward, whole(-5, 4), shapes=(((5, 7), (4, )), ((5, 5), (9, )), ((5, 5), (0, ))), calls=MODES,
    dtypes=DTYPES, **EXACT, refusals=[([BAD, np.array([2])], call(axis=0)), ([BAD, np.array([7])], call()),
                                      ([BAD, np.array([0])], call(axis=2))])
row("take", np.take, awkward, whole(-99, 99), shapes=(((5, 7), (2, 3)), ((1, 1), (1, 4))),
    calls=[call(axis=1, mode="wrap"), call(axis=0, mode="clip")], dtypes=DTYPES, **EXACT)
for axis in (0, 1):
    row("take_along_axis", np.take_along_axis, awkward, whole(-3, 2), shapes=(((3, 3), (3, 3)), ((3, 3), (3, 3))),
        calls=[call(axis)], dtypes=DTYPES, **EXACT)
row("choose", lambda a, x, y, z, **o: np.choose(a.astype(np.int64), [x, y, z], **o), whole(0, 2), awkward, awkward,
    awkward, shapes=twice(MATRIX, 4), calls=[call(), call(mode="clip")], dtypes=["float32", "int8"],
    build=lambda f, a, x, y, z, **o: f(a, [x, y, z], **o), **EXACT)
PARTS = [
    at(1),
    at(slice(1, None)),
    at(slice(None, None, -2)),
    at(slice(None), 3),
    at(slice(None, None, -1), slice(0, 7, 3))
]


def replaced(x, index, value, add=False):
    x = x.copy()
    if add:
        np.add.at(x, index, np.asarray(value).astype(x.dtype))
    else:
        x[index] = np.asarray(value).astype(x.dtype)
    return x


for name, add in {"set_subtensor": False, "inc_subtensor": True}.items():
    row(name, lambda x, i, v, add=add: replaced(x, i, v, add), plain, shapes=FULL,
        dtypes=["float32", "float64", "int8", "int64"], calls=[call(c.args[0], v) for c in PARTS for v in (2, 1)],
        build=lambda f, x, i, v: f(x[i], v), wide=False)
    row(name, lambda x, i, v, add=add: replaced(x, i, v, add), plain, whole(-5, 4), plain,
        shapes=(((5, ), (5, ), (5, )), ((5, ), (9, ), (9, ))), dtypes=["float64", "int8", "int64"],
        build=lambda f, x, i, v: f(x[i], v), wide=False, ulp=8, absolute=50,
        why="repeated elements are added in another order", refusals=[([np.ones(3), np.array([3]),
                                                                  np.ones(1)], call())])
for name, add in {"set_subtensor": False, "inc_subtensor": True}.items():
    row(name, lambda x, m, v, add=add: replaced(x, m, v, add), plain, only("bool", between(-1, 0), "positions"),
        shapes=(((5, 7), (5, 7)), ((1, 1), (1, 1)), ((0, 2), (0, 2))), dtypes=["float32", "float64", "int8", "int64"],
        calls=[call(2)], build=lambda f, x, m, v: f(x[m], v), wide=False)
row("ravel_multi_index", lambda i, j, dims, **o: np.ravel_multi_index((i, j), dims, **o), whole(0, 3), whole(0, 4),
    shapes=twice(VECTOR), calls=[call((4, 5)), call((4, 5), mode="wrap")], dtypes=["int64"], wide=False,
    build=lambda f, i, j, dims, **o: f([i, j], dims, **o), refusals=[([np.array([4]), np.array([0])], call((4, 5)))])
row("unravel_index", np.unravel_index, whole(0, 19), shapes=VECTOR, calls=[call((4, 5)), call((2, 2, 5))],
    dtypes=["int64"], wide=False, refusals=[([np.array([20])], call((4, 5)))])
row("inverse_permutation", np.argsort, permutation, shapes=VECTOR, dtypes=["int64"], wide=False)
