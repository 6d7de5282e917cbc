"""Views, axes, joins, ranges and matrices of ones: all exact."""

import numpy as np


from samples import FLOATS, REALS, awkward, between, one, only, plain, whole
from table import FILLED, MATRIX, SCALAR, TENSOR3, VECTOR, always, call, row

EXACT = dict(dtypes=["float32", "float64", "float16", "int8", "int64", "bool", "complex64"], wide=False, zero_sign=True)
BAD = np.ones((2, 3))


def moves(name, reference, shapes, calls=(call(),), **facts):
    row(name, reference, awkward, shapes=shapes, calls=list(calls), **(EXACT | facts))


def dimshuffle(x, *pattern):
    kept = [p for p in pattern if p != "x"]
    dropped = tuple(a for a in range(x.ndim) if a not in kept)
    x = x.squeeze(dropped).transpose(np.argsort(np.argsort(kept)).tolist()) if dropped else x.transpose(kept)
    return x[tuple(None if p == "x" else slice(None) for p in pattern)]


moves("dimshuffle", dimshuffle, MATRIX, [call(1, 0), call("x", 0, 1), call(1, "x", 0)],
      refusals=[([BAD], call(0)), ([BAD], call(0, 2))])
moves("dimshuffle", dimshuffle, TENSOR3, [call(2, 0, 1), call(2, "x", 1, 0)])
moves("transpose", lambda x, axes=None: np.transpose(x, axes), TENSOR3, [call(), call((1, 2, 0)), call((0, 2, 1))],
      refusals=[([BAD], call((0, 0))), ([BAD], call((0, 1, 2)))])
moves("transpose", np.transpose, MATRIX)
moves("reshape", np.reshape, (((4, 6),), ((1, 24),), ((8, 3),)), [call((2, 12)), call((-1,)), call((3, -1, 2))],
      refusals=[([BAD], call((4, 2))), ([BAD], call((-1, 4))), ([BAD], call((-1, -1)))])
moves("reshape", np.reshape, (((0, 6),), ((4, 0),)), [call((0,)), call((3, 0, 2))])
moves("flatten", lambda x, ndim=1: x.reshape(x.shape[:ndim - 1] + (int(np.prod(x.shape[ndim - 1:])),)), TENSOR3,
      [call(), call(2), call(3)])
moves("flatten", lambda x: x.ravel(), MATRIX)
moves("expand_dims", np.expand_dims, MATRIX, [call(0), call(1), call(-1), call((0, 2))], refusals=[([BAD], call(4))])
moves("squeeze", lambda x, axis=None: np.squeeze(x, 1 if axis is None else axis), (((5, one, 3), ), ((0, one, 2), )),
      [call(), call(1)], refusals=[([BAD], call(0))])
for n in (1, 2, 3):
    reference = (lambda n: lambda x: x[(None,) * max(n - x.ndim, 0)])(n)
    for shapes in (SCALAR, VECTOR, MATRIX):
        moves(f"atleast_{n}d", reference, shapes, dtypes=["float32", "int8"],
              differs="new axes are in front; NumPy's atleast_3d puts some after the others" if n == 3 else "")
moves("atleast_Nd", lambda x, n, left=True: x[(None, ) * (n - x.ndim)]
      if left else x[(..., ) + (None, ) * (n - x.ndim)], MATRIX, [call(3), call(4, left=False)])
moves("moveaxis", np.moveaxis, TENSOR3, [call(0, 2), call(-1, 0), call((0, 1), (2, 0))], refusals=[([BAD], call(0, 2))])
moves("swapaxes", np.swapaxes, TENSOR3, [call(0, 2), call(-1, 1)], refusals=[([BAD], call(0, 2))])
moves("shape_padleft", lambda x, n=1: x[(None,) * n], MATRIX, [call(), call(2)])
moves("shape_padright", lambda x, n=1: x[(...,) + (None,) * n], MATRIX, [call(), call(2)])
moves("shape_padaxis", np.expand_dims, MATRIX, [call(0), call(1), call(-1)])
moves("broadcast_to", np.broadcast_to, (((one, 5),),), [call((4, 5)), call((2, 3, 5)), call((0, 5))],
      refusals=[([BAD], call((2, 4))), ([BAD], call((3,)))])
moves("specify_shape", lambda x, shape: x, (((2, 5),),), [call((2, 5)), call((2, None)), call((None, None))],
      refusals=[([BAD], call((3, 2)))])
moves("addbroadcast unbroadcast", lambda x, *axes: x, (((one, 5),), ((one, 0),)), [call(0)])
moves("patternbroadcast", lambda x, pattern: x, (((one, 5),), ((one, 0),)), [call([True, False])])

# --- joins -------------------------------------------------------------------------------------------------------
THREE = (((2, 3), (4, 3), (2, 3)), ((0, 3), (1, 3), (0, 3)), ((1, 0), (1, 0), (1, 0)))
SQUARE = (((3, 3),) * 3, ((1, 1),) * 3, ((0, 0),) * 3)


def joined(name, reference, build, shapes, calls, **facts):
    row(name, reference, awkward, awkward, awkward, shapes=shapes, calls=list(calls), build=build, **(EXACT | facts))


def of_list(function, *rest, **options):
    parts = [r for r in rest if hasattr(r, "dtype")]
    return function(parts, *rest[len(parts):], **options)


for names, reference in {"concatenate": np.concatenate, "stack": np.stack}.items():
    ours = lambda *a, f=reference, **k: of_list(f, *a, **k)
    joined(names, ours, of_list, SQUARE, [call(), call(axis=1), call(axis=-1)],
           refusals=[([BAD, np.ones((2, 4)), BAD], call(axis=0)), ([BAD, BAD, BAD], call(axis=3))])
joined("concatenate", lambda *a, **k: of_list(np.concatenate, *a, **k), of_list, THREE, [call()])
joined("join", lambda x, y, z, axis: np.concatenate([x, y, z], axis), lambda f, x, y, z, axis: f(axis, x, y, z), SQUARE,
       [call(0), call(1)])
moves("split",
      lambda x, sizes, axis=0: tuple(np.split(x,
                                              np.cumsum(sizes)[:-1]
                                              if isinstance(sizes, list) else sizes, axis)), (((6, 4), ), ((6, 4), )),
      [call([1, 2, 3]), call(3), call([4, 0], axis=1), call(2, axis=1)],
      build=lambda f, x, sizes, axis=0: f(x, sizes, axis=axis), refusals=[([BAD], call([1, 2])),
                                                                          ([BAD], call(2, axis=1))])
moves("tile", np.tile, MATRIX, [call((2, 3)), call((2, 1, 2)), call(3), call((0, 1))])
moves("repeat", np.repeat, MATRIX, [call(3), call(2, axis=0), call(2, axis=1), call(0, axis=1)],
      refusals=[([BAD], call(2, axis=2)), ([BAD], call(-1))])
moves("roll", np.roll, MATRIX,
      [call(3), call(-2, axis=0), call(7, axis=1), call((1, 2), axis=(0, 1)), call(3, axis=(0, 1)), call((1, -4), axis=0),
       call((1, 2)), call((1, 2, 3), axis=(0, 1, -2))],
      refusals=[([BAD], call(1, axis=2)), ([BAD], call((1, 2, 3), axis=(0, 1)))])
moves("flip", np.flip, MATRIX, [call(), call(0), call(1), call((0, 1))], refusals=[([BAD], call(2))])
WIDTHS = [call(1), call((2, 0)), call(((1, 2), (0, 3)))]
moves("pad", np.pad, MATRIX, WIDTHS)
moves("pad", lambda x, w, mode: np.pad(x, w, mode), FILLED,
      [call(w.args[0], mode=m) for w in WIDTHS[:2]
       for m in ("edge", "reflect", "symmetric", "wrap")] + [call(((11, 12), (0, 13)), mode="reflect")],
      dtypes=["float32", "int8"], refusals=[([BAD], call(((1, 1), (1, 1), (1, 1)), mode="edge")),
                                            ([np.ones((0, 2))], call(1, mode="edge"))])

# --- filled arrays and ranges ------------------------------------------------------------------------------------
SIZE = (whole(0, 6, role="sizes"), whole(0, 6, role="sizes"))
MADE = dict(wide=False, dtypes=["float32"])
FLOATX = "without a dtype floatX (float32); NumPy's is float64"


def made(name, reference, calls, *draws, shapes=None, **facts):
    draws = draws or SIZE
    row(name, reference, *draws, shapes=shapes or tuple((((), ) * len(draws)) for _ in range(5)), calls=list(calls),
        **(MADE | facts))


for name in "zeros ones".split():
    made(name, lambda n, m, dtype="float32", f=getattr(np, name): f((int(n), int(m)), dtype),
         [call(), call(dtype="int8"), call(dtype="bool")], build=lambda f, n, m, **k: f((n, m), **k), differs=FLOATX)
made("empty", lambda n, m, dtype="float32": np.zeros((int(n), int(m)), dtype), [call(), call(dtype="int64")],
     build=lambda f, n, m, **k: f((n, m), **k), differs="zeros, so that nothing is read before it is written")
made("full", lambda n, m, value, dtype: np.full((int(n), int(m)), value, dtype),
     [call(7, dtype="int16"), call(1.5, dtype="float64")], build=lambda f, n, m, value, dtype: f(
         (n, m), value, dtype=dtype))
made("alloc", lambda n, m, value: np.full((int(n), int(m)), value, "float32"), [call(2.5)],
     build=lambda f, n, m, v: f(v, n, m))
moves("full_like", lambda x, v, dtype=None: np.full_like(x, v, dtype=dtype), MATRIX,
      [call(3), call(1, dtype="float64")], dtypes=REALS)
made("arange", lambda n, m: np.arange(n, n + m), [call()], build=lambda f, n, m: f(n, n + m))
made("arange", lambda n, m, step: np.arange(n, 3 * m, step), [call(1), call(2), call(3), call(-1)],
     build=lambda f, n, m, step: f(n, 3 * m, step))
COLUMNS = [call(), call(k=1), call(k=-2), call(dtype="int32")]
for name in "eye tri".split():
    made(name, lambda n, m, f=getattr(np, name), **o: f(int(n), int(m), **({"dtype": "float32"} | o)), COLUMNS,
        differs=FLOATX)
made("identity", lambda n, dtype="float32": np.identity(int(n), dtype), [call(), call(dtype="int8")], SIZE[0],
     differs=FLOATX)
ENDS = (only("float64", between(-3, 3), "start"), only("float64", between(1, 9), "end"))


def spaced(f):
    """In longdouble, so that the exact numbers are known."""
    return lambda a, b, num=50, endpoint=True, **o: f(np.longdouble(a), np.longdouble(b), num, endpoint=endpoint, **o)


COUNTS = [call(), call(5), call(1), call(0), call(num=4, endpoint=False)]
made("linspace", spaced(np.linspace), COUNTS, *ENDS, result=always("float64"), ulp=4, absolute=50,
     why="start + i step; absolute where it crosses 0")
made("logspace", spaced(np.logspace), COUNTS + [call(num=5, base=2.0)], *ENDS, result=always("float64"), ulp=64,
     why="a power of a rounded exponent")
made("geomspace", spaced(np.geomspace), COUNTS, ENDS[1], ENDS[1], result=always("float64"), ulp=64,
     why="a power of a rounded quotient")
row("meshgrid", lambda x, y, **o: tuple(np.meshgrid(x, y, **o)), awkward, awkward,
    shapes=(((3, ), (4, )), ((0, ), (2, )), ((1, ), (1, ))), calls=[call(), call(indexing="ij")], **EXACT)
for name in "mgrid ogrid".split():

    def grid(n, m, sparse=name == "ogrid"):
        dtypes = [np.result_type(np.int8 if x.dtype.kind in "uf" else np.int64, x.dtype) for x in (n, m)]
        dtypes = [d if d.kind == "f" else np.int64 for d in dtypes]
        ranges = [np.arange(n * 1).astype(dtypes[0]), np.arange(1, m * 1 + 1, 2).astype(dtypes[1])]
        return tuple(np.meshgrid(*ranges, indexing="ij", sparse=sparse))

    made(name, grid, [call()], build=lambda g, n, m: g[0:n, 1:m + 1:2],
         differs="each part has the dtype of its own range, NumPy's one for all")

# --- diagonals ---------------------------------------------------------------------------------------------------
OFFSETS = [call(), call(1), call(-2), call(9)]
for name in "tril triu".split():
    moves(name, getattr(np, name), MATRIX, OFFSETS)
    moves(name, getattr(np, name), TENSOR3, [call(), call(1)], dtypes=["float32", "int8"])
moves("diag", np.diag, VECTOR, [call(), call(1), call(-2)])
moves("diag", np.diag, MATRIX, [call(), call(1), call(-1)])
moves("diagonal", np.diagonal, MATRIX, [call(), call(1), call(-1)])
moves("diagonal", np.diagonal, TENSOR3, [call(0, 0, 2), call(1, 1, 2), call(-1, 2, 0)], dtypes=["float32", "int8"],
      refusals=[([BAD], call(0, 0, 0)), ([BAD], call(0, 0, 2))])
row("trace", lambda x, *a: np.trace(x.astype("int64") if x.dtype.kind in "i" else x, *a), plain, shapes=MATRIX,
    calls=[call(), call(1), call(-1)], dtypes=["float64", "float32", "int32",
                                               "int8"], ulp=8, absolute=8, why="a sum")


def fill_diagonal(x, value):
    x = x.copy()
    np.fill_diagonal(x, value)
    return x


def fill_offset(x, value, offset):
    x = x.copy()
    for i in range(x.shape[0]):
        if 0 <= i + offset < x.shape[1]:
            x[i, i + offset] = value
    return x


row("fill_diagonal", fill_diagonal, plain, shapes=(((4, 4), ), ((3, 6), ), ((1, 1), )), calls=[call(2),
                                                                                               call(5)],
    dtypes=REALS[:-1])
row("fill_diagonal_offset", fill_offset, plain, shapes=MATRIX, calls=[call(2, 0), call(5, 2),
                                                                      call(1, -1)], dtypes=REALS[:-1])
for name in "one_hot to_one_hot".split():
    row(name, lambda y, n, dtype="float32": np.eye(n, dtype=dtype)[y], whole(0, 4), shapes=VECTOR,
        calls=[call(5), call(7, dtype="int8")], wide=False, dtypes=["int64"],
        refusals=[([np.array([1, 5])], call(5))])
row("diff", np.diff, plain, shapes=(((5, 7), ), ((1, 3), ), ((3, 1), )),
    calls=[call(), call(axis=0), call(n=2), call(n=3, axis=0)], dtypes=FLOATS + ["int32", "int8", "uint8", "bool"],
    ulp={"float16": 1, "float32": 0, "float64": 0}, wide=False, why="differences of differences round each time")
