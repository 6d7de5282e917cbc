"""Running sums, sorting, searching, and results whose size is computed."""

import itertools

import numpy as np

from samples import awkward, between, only, plain, sorted_awkward, sorted_draw, whole, with_ties
from table import MATRIX, VECTOR, always, call, row, twice

DTYPES = ["float32", "float64", "float16", "int8", "int64", "uint64", "bool"]
AXES = [call(), call(axis=0), call(axis=1), call(axis=None)]
BAD = np.ones((2, 3))
EXACT = dict(wide=False)


def counted(dtype):
    return "int64" if np.dtype(dtype).kind == "b" else np.dtype(dtype).name


for name in "cumsum cumprod".split():
    row(name, lambda x, f=getattr(np, name), **o: f(x, dtype=counted(x.dtype) if x.dtype.kind in "iub" else None, **o),
        between(-2, 2) if name == "cumsum" else between(0.5, 1.5, (1, 2)), shapes=MATRIX, calls=AXES, dtypes=DTYPES,
        result=counted, ulp={"float16": 64, "float32": 64,
                             "float64": 64}, absolute=250, why="one rounding a step",
        differs="the dtype stays; NumPy's int8 gives int64", refusals=[([BAD], call(axis=2))])
for name in "cumsum cumprod".split():
    row(name, lambda x, f=getattr(np, name), **o: f(x, axis=0, dtype=np.float64), between(-2, 2, (-3, 3)),
        shapes=MATRIX, calls=[call(axis=0, dtype="float64")], dtypes=["int8", "float32", "bool"],
        result=always("float64"), wide=False, own=True, ulp=64, absolute=8, why="one rounding a step")
    row(name, lambda x, f=getattr(np, name), **o: f(x, axis=0, dtype=np.int64), between(-2, 2, (-3, 3)), shapes=MATRIX,
        calls=[call(axis=0, dtype="int64"), call(axis=0, dtype="int64", acc_dtype="int64")], dtypes=["int8", "uint8"],
        result=always("int64"), wide=False, own=True)
    row(name, lambda x, f=getattr(np, name), **o: f(x, axis=0, dtype=np.float64), between(0.5, 1.5), shapes=MATRIX,
        calls=[call(axis=0, acc_dtype="float64")], dtypes=["float32"], result=always("float32"), wide=False, own=True, ulp=1,
        why="rounded once")
for draw in (awkward, with_ties):
    row("sort", np.sort, draw, shapes=MATRIX, calls=AXES, dtypes=DTYPES, refusals=[([BAD], call(axis=2))], **EXACT)
    row("argsort", lambda x, **o: np.argsort(x, kind="stable", **o), draw, shapes=MATRIX, calls=AXES, dtypes=DTYPES,
        **EXACT)


def top(x, k, axis=-1):
    """By a stable sort in descending, or for k < 0 in ascending, order; nan is the largest."""
    order = np.argsort(x, axis=axis, kind="stable")
    if k > 0:
        flipped = np.flip(x, axis)
        n = x.shape[axis]
        order = np.flip(n - 1 - np.argsort(flipped, axis=axis, kind="stable"), axis)
    return np.take(order, range(abs(k)), axis)


def values_of(x, k, axis=-1):
    return np.take_along_axis(x, top(x, k, axis), axis)


KTH = [call(2), call(-2), call(1, axis=0), call(-1, axis=1)]
TALL = (((5, 7),), ((2, 5),), ((1, 3),))
row("topk", values_of, between(-99, 99), shapes=TALL, calls=KTH, dtypes=["float32", "float64", "int64"], **EXACT,
    differs="NumPy has partition only")
for name, reference in {"argtopk": top, "topk_and_argtopk": lambda *a, **o: (values_of(*a, **o), top(*a, **o))}.items():
    row(name, reference, between(-99, 99, (-10000, 10000)), shapes=TALL, calls=KTH,
        dtypes=["float32", "float64", "int64"], **EXACT)
SORTED = dict.fromkeys(["float32", "int32"], "its operand is sorted: special values are drawn with the others")
SEARCH = (((9,), (6,)), ((0,), (3,)), ((1,), (1,)), ((5,), (0,)))
row("searchsorted", np.searchsorted, sorted_draw, plain, shapes=SEARCH, calls=[call(), call(side="right")],
    dtypes=["float32", "float64", "int8", "int64", "uint64"], layouts=False, special=SORTED, **EXACT)
row("searchsorted", np.searchsorted, sorted_awkward, awkward, shapes=SEARCH, calls=[call(), call(side="right")],
    dtypes=["float32", "float64", "int8", "int64", "int32"], layouts=False, special=SORTED, **EXACT)
SPARSE = between(-1, 1, (-1, 1))
row("nonzero", np.nonzero, SPARSE, shapes=MATRIX, dtypes=DTYPES, **EXACT)
row("flatnonzero", np.flatnonzero, SPARSE, shapes=MATRIX, dtypes=DTYPES, **EXACT)
row("nonzero_values", lambda x: x[np.nonzero(x)], SPARSE, shapes=MATRIX, dtypes=DTYPES, **EXACT)
CONDITION = only("bool", plain)
row("compress", lambda x, c, **o: np.compress(c, x, **o), awkward, CONDITION, shapes=(((5, 7), (5,)), ((5, 2), (5,))),
    calls=[call(axis=0)], dtypes=DTYPES, build=lambda f, x, c, **o: f(c, x, **o), **EXACT)
row("extract", lambda x, c: np.extract(c, x), awkward, CONDITION, shapes=twice(MATRIX), dtypes=DTYPES,
    build=lambda f, x, c: f(c, x), **EXACT)
row("repeat", lambda x, n: np.repeat(x, n.astype(np.int64), axis=0), awkward, whole(0, 3),
    shapes=(((5, 3), (5, )), ((1, 2), (1, )), ((0, 2), (0, ))), dtypes=DTYPES, build=lambda f, x, n: f(x, n, axis=0),
    **EXACT)
for draw in (plain, between(-1, 1)):
    row("unique", lambda x, **o: np.unique(x, **o), draw, shapes=VECTOR, dtypes=["float32", "int8", "int64", "bool"],
        calls=[call(), call(return_index=True),
               call(return_counts=True, return_inverse=True)], **EXACT)


def unique_slices(x, axis, **o):
    """NumPy's inverse has had other shapes with an axis; Croton's is a vector."""
    found = np.unique(x, axis=axis, **o)
    return tuple(part.reshape(-1) if at > 0 else part for at, part in enumerate(found)) if o else found


RECURRING = ((((70, 3), ), ((3, 40), ), ((4, 0), ), ((0, 3), )), (((2, 9, 2), ), ((5, 2, 1), )))
for draw, shapes in itertools.product((whole(0, 1), between(-1, 1)), RECURRING):
    row("unique", unique_slices, draw, shapes=shapes, dtypes=DTYPES,
        calls=[call(axis=0), call(axis=-1), call(axis=1, return_index=True),
               call(axis=0, return_counts=True, return_inverse=True)],
        special=dict.fromkeys(DTYPES[:3], "NumPy counts rows with nan as different"), refusals=[([BAD], call(axis=3))], **EXACT)
row("bincount", lambda x, **o: np.bincount(x.astype(np.int64), **o), whole(0, 9, "int64"), shapes=VECTOR,
    calls=[call(), call(minlength=20)], dtypes=["int64"], **EXACT, refusals=[([np.array([-1])], call())])


def summed(x, weights):
    """In the dtype of the weights; NumPy's result is float64."""
    x = x.astype(np.int64)
    out = np.zeros(x.max(initial=-1) + 1, counted(weights.dtype))
    np.add.at(out, x, weights)
    return out


row("bincount", summed, whole(0, 9), plain, shapes=twice(VECTOR)[:1], dtypes=["float64", "float32", "int64"],
    result=counted, ulp=4, absolute=50, why="added in another order", differs="the sums have the dtype of the weights")
