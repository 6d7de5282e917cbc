"""Complex numbers: their own functions, and elementwise functions, sums and products of them."""

import numpy as np

from samples import COMPLEX, between, plain
from table import FILLED, MATRIX, always, call, floats, magnitudes, row, same, twice

FINITE = between(-3, 3)
CLOSE = dict(ulp=8, why="relative to |z|; NumPy's complex functions are of some ULP themselves")


def complex_of(dtype):
    return np.result_type(dtype, np.complex64).name


for name in "real imag conj conjugate".split():
    row(name, getattr(np, name), plain, result=same if name.startswith("conj") else None, shapes=MATRIX,
        dtypes=COMPLEX + ["float64", "float32", "int32"], wide=False)


def angles(dtype):
    return floats(dtype) if np.dtype(dtype).kind != "c" else magnitudes(dtype)


row("angle", np.angle, plain, result=angles, shapes=MATRIX, dtypes=COMPLEX + ["float64", "float32"], ulp=4,
    why="arctan2's")


for name in "isreal iscomplex".split():
    row(name, getattr(np, name), plain, shapes=MATRIX, dtypes=COMPLEX + ["float64", "float32"], result=always("bool"))


def of_parts(re, im):
    out = np.zeros(re.shape, np.result_type(re, im, np.complex64))
    out.real, out.imag = re, im
    return out


row("complex", of_parts, plain, plain, shapes=twice(MATRIX),
    dtypes=["float64", "float32"], result=complex_of)
row("complex_from_polar", lambda r, t: r * np.exp(np.clongdouble(1j) * t), plain, plain, shapes=twice(MATRIX),
    dtypes=["float64", "float32"], result=complex_of, **CLOSE)
for names, function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "true_div": np.true_divide}.items():
    row(names, function, FINITE, FINITE, shapes=twice(MATRIX), dtypes=COMPLEX, **CLOSE)
for name in "exp expm1 log sqrt sin cos tan sinh cosh tanh reciprocal".split():
    row(name, getattr(np, name), FINITE, shapes=MATRIX, dtypes=COMPLEX, **CLOSE)
for names, function in {"abs abs_ absolute": np.abs, "neg negative": np.negative, "sqr square": np.square}.items():
    row(names, function, FINITE, shapes=MATRIX, dtypes=COMPLEX, **CLOSE)
row("log1p", lambda z: np.log1p(z), between(-0.9, 3), shapes=MATRIX, dtypes=COMPLEX, **CLOSE)
row("cumprod", np.cumprod, between(-1.2, 1.2), shapes=FILLED, dtypes=COMPLEX, ulp=64,
    why="rounds once a step", calls=[call(), call(axis=0), call(axis=1)])
row("sinc", lambda z: np.sinc(z), FINITE, shapes=MATRIX, dtypes=COMPLEX, ulp=32,
    why="NumPy's own sin(pi z) is off near whole numbers")
row("float_power", lambda a, b: np.float_power(a, b), FINITE, between(-2, 2), shapes=twice(MATRIX), dtypes=COMPLEX,
    result=always("complex128"), wide=False, ulp=64, why="the logarithm's error times the exponent")
row("round", np.round, FINITE, shapes=MATRIX, dtypes=COMPLEX)
row("cumsum", np.cumsum, FINITE, shapes=FILLED, dtypes=COMPLEX, ulp=64, absolute=8,
    why="rounds once a step", calls=[call(), call(axis=0), call(axis=1)])
for name in "logical_and logical_or logical_xor isclose".split():
    row(name, getattr(np, name), plain, plain, shapes=twice(MATRIX), dtypes=COMPLEX)
for name in "logical_not nan_to_num".split():
    row(name, getattr(np, name), plain, shapes=MATRIX, dtypes=COMPLEX)
row("pow power", np.power, FINITE, FINITE, shapes=twice(MATRIX), dtypes=COMPLEX, ulp=64,
    why="exp(b log(a)): relative to |b log(a)| too")
for names, function in {"eq equal": np.equal, "neq not_equal": np.not_equal}.items():
    row(names, function, plain, plain, shapes=twice(MATRIX), dtypes=COMPLEX)
for name in "sum prod mean".split():
    row(name, getattr(np, name), FINITE, shapes=FILLED, dtypes=COMPLEX, ulp=64,
        absolute=8, why="rounds once a step", calls=[call(), call(axis=0), call(axis=1, keepdims=True)])
