"""Reductions over axes."""

import numpy as np
import scipy.special as sp

from samples import FLOATS, awkward, between, plain, with_ties
from table import FILLED, MATRIX, TENSOR3, always, call, floatx, magnitudes, means, row, same, spreads, sums

AXES = [
    call(),
    call(axis=0),
    call(axis=1),
    call(axis=-1, keepdims=True),
    call(axis=(0, 1)),
    call(axis=0, keepdims=True)
]
AXES3 = [call(), call(axis=1), call(axis=(0, 2)), call(axis=-1, keepdims=True), call(axis=(1, -1))]
FILLED3 = (((2, 3, 4),), ((1, 1, 1),), ((3, 1, 5),))
NARROW = {"float16": 2, "float32": 40, "float64": 40}
ADDED = dict(ulp=NARROW, absolute=170,
             why="added in the dtype, float16 in float32, along a tree: one rounding a level")
NUMBERS = ["float32", "float64", "float16", "int32", "int8", "uint64", "bool"]
EMPTY = np.zeros((0, 3)), np.zeros((3, 0))


def whole(function):
    """NumPy's sum, in 64 bits for integers: wider than its own sum of small ones on some systems."""
    def reference(x, **options):
        return function(x.astype(sums(x.dtype)) if x.dtype.kind in "iub" else x, **options)
    return reference


for shapes, calls in ((MATRIX, AXES), (TENSOR3, AXES3)):
    row("sum", whole(np.sum), plain, shapes=shapes, calls=calls, dtypes=NUMBERS, result=sums, **ADDED)
    row("mean", np.mean, plain, shapes=shapes, calls=calls, dtypes=NUMBERS, result=means, **ADDED)
    row("prod", whole(np.prod), between(0.5, 1.5, (1, 3)), shapes=shapes, calls=calls, dtypes=NUMBERS, result=sums,
        ulp=64, why="one rounding a step")
    for name in "var std".split():
        row(name, getattr(np, name), plain, shapes=shapes, calls=calls + [call(axis=0, ddof=1)], dtypes=NUMBERS,
            result=spreads, ulp={"float16": 4, "float32": 80, "float64": 80}, absolute=170,
            why="two passes, one rounding a level; absolute where all are equal")
    row("count_nonzero", lambda x, **o: np.asarray(np.count_nonzero(x, **o)), shapes=shapes, calls=calls,
        dtypes=NUMBERS, result=always("int64"))
    for name in "all any".split():
        row(name, getattr(np, name), between(-1, 1, (0, 2)), shapes=shapes, calls=calls,
            dtypes=["bool", "int8", "float32"], result=always("bool"), differs="NumPy's take every dtype too")
for shapes, calls in ((FILLED, AXES), (FILLED3, AXES3)):
    for draw in (awkward, with_ties):
        for name in "max min".split():
            row(name, getattr(np, name), draw, shapes=shapes, calls=calls, dtypes=NUMBERS, interval=(-3, 3),
                refusals=[([EMPTY[0]], call(axis=0)), ([EMPTY[0]], call()), ([np.ones((2, 3))], call(axis=2)),
                          ([np.ones((2, 3))], call(axis=(0, 0)))])
    row("ptp", lambda x, **o: (np.bitwise_xor if x.dtype.kind == "b" else np.subtract)(np.max(x, **o), np.min(x, **o)),
        plain, shapes=shapes, calls=[c for c in calls if not isinstance(c.kwargs.get("axis"), tuple)],
        dtypes=FLOATS + ["int32", "int64"], ulp=1, why="a difference of exact numbers")
ONE_AXIS = [call(), call(axis=0), call(axis=1), call(axis=-1, keepdims=True)]
for draw in (awkward, with_ties):
    for name in "argmax argmin".split():
        row(name, getattr(np, name), draw, shapes=FILLED, calls=ONE_AXIS, dtypes=NUMBERS, result=always("int64"),
            refusals=[([EMPTY[0]], call(axis=0)), ([np.ones((2, 3))], call(axis=-3))])
    row("max_and_argmax", lambda x, **o: (np.max(x, **o), np.argmax(x, **o)), draw, shapes=FILLED, calls=ONE_AXIS,
        dtypes=["float32", "int32"])
LOGSUM = dict(dtypes=["float64", "float32"], result=floatx, ulp=16, absolute=8,
              why="an exponential, a sum and a logarithm")
row("logsumexp", sp.logsumexp, plain, shapes=FILLED, calls=AXES, wide=True, **LOGSUM)
row("nnet.logsumexp", lambda x, axis=-1, keepdims=False: sp.logsumexp(x, axis=axis, keepdims=keepdims), plain,
    shapes=FILLED, calls=[call(), call(axis=0), call(axis=1, keepdims=True)], **LOGSUM)


def norm(x, ord=2.0, axis=None, keepdims=False):
    """The norm of all elements if there is no axis, as Theano's; NumPy's is a norm of matrices then."""
    a = np.abs(x)
    if ord == np.inf:
        return a.max(axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return a.min(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (a != 0).sum(axis=axis, keepdims=keepdims).astype(x.dtype)
    return (a ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / np.longdouble(ord))


row("norm", norm, plain, shapes=FILLED, dtypes=["float64",
                                                "float32"], result=magnitudes, ulp=16, why="powers, a sum and a root",
    calls=[call(),
           call(axis=0),
           call(1.0),
           call(3.0, axis=1),
           call(np.inf, axis=0),
           call(-np.inf),
           call(0.0, axis=1)])


# --- dtype and acc_dtype -----------------------------------------------------------------------------------------
def in_double(function):
    """Computed in float64; the row has the dtype of the result."""
    def reference(x, dtype=None, acc_dtype=None, **options):
        return function(np.asarray(x, np.float64), **options)
    return reference


def with_dtype(name, function, option, dtypes, result, **facts):
    row(name, in_double(function), plain, shapes=FILLED, calls=[option], dtypes=dtypes, result=result, wide=False,
        layouts=False, own=True, **facts)


ROUNDED = dict(ulp=1, why="computed in float64 and rounded to the dtype once")
IN_DOUBLE = dict(ulp=16, absolute=4, why="a few roundings in float64, or one to float32")
COMPUTED = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "logsumexp": sp.logsumexp,
            "norm": lambda x, axis=None: norm(x, axis=axis)}
for name, function in COMPUTED.items():
    with_dtype(name, function, call(dtype="float64"), ["float32", "float64"], always("float64"), **IN_DOUBLE)
    with_dtype(name, function, call(acc_dtype="float64", axis=0), ["float32", "float64"], same, **IN_DOUBLE)
    with_dtype(name, function, call(dtype="float32", acc_dtype="float64"), ["float32", "float64"], always("float32"),
               **ROUNDED)
    with_dtype(name, function, call(dtype="float16", axis=1), ["float32"], always("float16"), **ROUNDED)
for name, function in {"max": np.max, "min": np.min, "ptp": np.ptp}.items():
    with_dtype(name, function, call(dtype="float64"), ["float32", "int8"], always("float64"))
    with_dtype(name, function, call(dtype="int64"), ["int8", "uint8", "int32"], always("int64"))
for name in "argmax argmin".split():
    row(name, lambda x, dtype, f=getattr(np, name): f(x), awkward, shapes=FILLED, calls=[call(dtype="int32")],
        dtypes=["float32", "int8"], result=always("int32"), layouts=False, own=True,
        refusals=[([np.ones((2, 3))], call(dtype="float32"))])
for name in "all any".split():
    row(name, lambda x, dtype, f=getattr(np, name): f(x), between(-1, 1, (0, 2)), shapes=FILLED, layouts=False, own=True,
        calls=[call(dtype="bool")], dtypes=["float32", "int8"], result=always("bool"),
        refusals=[([np.ones((2, 3))], call(dtype="int8"))])
row("count_nonzero", lambda x, dtype: np.asarray(np.count_nonzero(x)), plain, shapes=FILLED,
    calls=[call(dtype="int16")], dtypes=["float32"], result=always("int16"), layouts=False, own=True)
row("sum", lambda x, dtype, acc_dtype=None: np.sum(x, dtype=np.int64), plain, shapes=MATRIX, layouts=False, own=True,
    calls=[call(dtype="int64"), call(dtype="int64", acc_dtype="int64")], dtypes=["int8", "bool", "uint8"],
    result=always("int64"))


def large(dtype, shape, random):
    """1e8 and ones, which a float32 accumulator loses."""
    return np.concatenate([[1e8], np.ones(int(np.prod(shape)) - 1)]).reshape(shape).astype(dtype)


for name, function in {"sum": np.sum, "mean": np.mean}.items():
    row(name, lambda x, acc_dtype, f=function: f(x, dtype=np.float64), large, shapes=(((64, 65),),), wide=False,
        calls=[call(acc_dtype="float64")], dtypes=["float32"], result=always("float32"), layouts=False, own=True)
for name in "max min argmax argmin all any".split():
    row(name, None, refusals=[([np.ones((2, 3))], call(acc_dtype="float64"))])
for name in "var std norm logsumexp".split():
    row(name, None, refusals=[([np.ones((2, 3))], call(acc_dtype="int32"))])
