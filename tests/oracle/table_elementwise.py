"""Elementwise functions. References are NumPy's and SciPy's, in wider numbers if these have them."""

import numpy as np
import scipy.special as sp

from samples import COMPLEX, FLOATS, INTEGERS, awkward, between, one, only, plain, positive, whole
from table import MATRIX, SCALAR, TENSOR3, always, call, floats, floatx, row, same, twice

BITS = INTEGERS + ["bool"]
NUMBERS = FLOATS + INTEGERS  # without bool
REAL = ["float64", "float32", "float16", "int32", "int8", "uint8", "int64", "uint64", "bool"]
PAIRS = twice(MATRIX)
BROADCAST = (((5, 11), (one, 11)), ((5, 4), (one, 4)), ((0, 3), (one, 3)))
FOUR = dict(ulp=4, why="the accuracy promised for functions that are no arithmetic (docs/use/numerics.md)")


def through_double(function):
    """SciPy's functions use float64; narrower operands are exact in it."""
    def reference(*arrays):
        return function(*[np.asarray(a, np.float64) for a in arrays])
    return reference


# --- one operand: real functions ---------------------------------------------------------------------------------
FUNCTIONS = """exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh
               cbrt"""
for name in FUNCTIONS.split():
    row(name, getattr(np, name), shapes=MATRIX, dtypes=REAL, result=floats, **FOUR)
for names, function in {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
                        "atanh": np.arctanh}.items():
    row(names, function, shapes=MATRIX, dtypes=REAL, result=floats, **FOUR)
row("arccosh acosh", np.arccosh, shapes=MATRIX, dtypes=REAL, result=floats, interval=(1.2, 3), **FOUR)
row("sqrt", np.sqrt, shapes=MATRIX, dtypes=REAL, result=floats)
row("rsqrt", lambda x: 1 / np.sqrt(x), shapes=MATRIX, dtypes=REAL, result=floats, ulp=2, why="1 / sqrt(x) rounds twice")
row("reciprocal inv", lambda x: 1 / x, shapes=MATRIX, dtypes=FLOATS, result=floats)
row("exp10", lambda x: np.power(np.longdouble(10), x), shapes=MATRIX, dtypes=REAL, result=floats, **FOUR)
row("deg2rad radians", lambda x: x * (np.longdouble("3.14159265358979323846") / 180), shapes=MATRIX, dtypes=REAL,
    result=floats, ulp=2, why="a product with a rounded number")
row("rad2deg degrees", lambda x: x * (180 / np.longdouble("3.14159265358979323846")), shapes=MATRIX, dtypes=REAL,
    result=floats, ulp=2, why="a product with a rounded number")
row("sinc", lambda x: np.sinc(x), between(-6, 6), shapes=MATRIX, dtypes=FLOATS, result=floats, ulp=8, absolute=5,
    why="NumPy's own sin(pi x) is off near whole numbers")
for name in "erf erfc erfcx".split():
    row(name, through_double(getattr(sp, name)), between(-5, 5), shapes=MATRIX, dtypes=REAL, result=floats, wide=False,
        ulp=24, why="SciPy's erfc and erfcx are of some ULP; tests/ulp has the exact values")
row("erfinv", through_double(sp.erfinv), between(-0.99, 0.99, (0, 1)), shapes=MATRIX, dtypes=FLOATS, wide=False,
    result=floats, ulp=16, why="SciPy's is of some ULP itself")
row("erfcinv", through_double(sp.erfcinv), between(0.01, 1.99, (0, 2)), shapes=MATRIX, dtypes=FLOATS, wide=False,
    result=floats, ulp=32, absolute=2, why="SciPy's is of some ULP itself; absolute near 1")
row("gamma", through_double(sp.gamma), between(0.1, 20,
                                               (1, 12)), shapes=MATRIX, dtypes=REAL, result=floats, wide=False, ulp=16,
    why="SciPy's is of some ULP itself", differs="of negative whole numbers NumPy's kin give inf or raise; nan here")
row("gammaln", through_double(lambda x: np.where(x == -np.inf, np.inf, sp.gammaln(x))), between(2.2, 50, (3, 50)),
    shapes=MATRIX, dtypes=NUMBERS, result=floats, wide=False, ulp=16,
    why="near the zeros at 1 and 2 only the absolute error is small", interval=(2.5, 4))
row("psi digamma", through_double(sp.psi), between(1.6, 50, (2, 50)), shapes=MATRIX, dtypes=NUMBERS, result=floats,
    wide=False, ulp=16, why="near its zero at 1.46 only the absolute error is small", interval=(1.6, 4))
row("tri_gamma", through_double(lambda x: sp.polygamma(1, x)), between(0.2, 50, (1, 50)), shapes=MATRIX, dtypes=NUMBERS,
    result=floats, wide=False, ulp=16, why="SciPy's is of some ULP itself")


def limit(function, at_infinity):
    """SciPy's Bessel functions are nan at infinities; for negative x only whole orders have values."""
    def reference(order, x):
        odd = np.where(x < 0, np.where(order % 2 == 0, 1, np.where(order % 2 == 1, -1, np.nan)), 1)
        return np.where(np.isinf(order), 0 * x, np.where(np.isinf(x), at_infinity * odd, function(order, x)))
    return reference


def oscillating(order):
    """SciPy has the phase of large numbers only in float64; two terms of the expansion have 16 digits there."""
    def reference(x):
        wide = np.abs(x).astype(np.longdouble)
        at = wide - (2 * order + 1) * np.longdouble("0.785398163397448309615660845819875721")
        far = np.sqrt(2 / (4 * np.longdouble("0.785398163397448309615660845819875721") * wide)) * (
            np.cos(at) - (4 * order * order - 1) / (8 * wide) * np.sin(at))
        far = np.where(x < 0, (-1)**order * far, far)
        near = (sp.j1 if order else sp.j0)(x)
        return np.where(np.isinf(x), 0, np.where(wide > 1e6, far, near))
    return reference


for name in "i0 i1".split():
    order = int(name[1])
    row(name, through_double(lambda x, order=order: limit(sp.iv, np.inf)(order, x)), between(-9, 9), shapes=MATRIX,
        dtypes=NUMBERS, result=floats, wide=False, ulp=16, why="SciPy's is of some ULP itself")
for name in "j0 j1".split():
    row(name, through_double(oscillating(int(name[1]))), between(-9, 9), shapes=MATRIX, dtypes=FLOATS, wide=False,
        result=floats, ulp=16, absolute=450, why="near zeros only the absolute error is small",
        differs="SciPy's of infinities are nan")
row("sigmoid", lambda x: 1 / (1 + np.exp(-x)), shapes=MATRIX, dtypes=REAL, result=floats, **FOUR)
row("softplus", lambda x: np.logaddexp(0, x), shapes=MATRIX, dtypes=REAL, result=floats, **FOUR)
row("log1mexp", lambda x: np.where(x < -0.7, np.log1p(-np.exp(x)), np.log(-np.expm1(x))), between(-30, -1e-3, (-9, -1)),
    shapes=MATRIX, dtypes=FLOATS, interval=(-3, -0.2), result=floats, **FOUR)
row("xlogx", lambda x: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, x))), shapes=MATRIX, dtypes=FLOATS,
    result=floats, **FOUR)

# --- one operand: exact ------------------------------------------------------------------------------------------
row("abs abs_ absolute", np.abs, shapes=MATRIX, dtypes=REAL, interval=(-0.9, 0.9))
row("fabs", np.fabs, shapes=MATRIX, dtypes=REAL, result=floats, interval=(-0.9, 0.9),
    refusals=[([np.ones(3, "complex64")], call())])
SIXTEEN = {"bfloat16": "NumPy has no such numbers: tests/ops/test_functions.cpp"}
row("spacing", lambda x: np.spacing(x if x.dtype.kind == "f" else x.astype(floats(x.dtype))), shapes=MATRIX,
    dtypes=["float64", "float32"], wide=False, result=floats, left_out=SIXTEEN | {"float16": "another row has it"})
row("spacing", lambda x: np.copysign(np.spacing(np.abs(x)), x), positive, shapes=MATRIX, wide=False, result=floats,
    own=True, dtypes=["float16", "int32"], differs="NumPy's spacing of negative float16 is positive; int8 gives float32")
row("neg negative", np.negative, shapes=MATRIX, dtypes=NUMBERS, zero_sign=True)
row("positive", lambda x: x, shapes=MATRIX, dtypes=REAL, zero_sign=True, differs="NumPy refuses bool")
row("sqr square", np.square, shapes=MATRIX, dtypes=REAL, result=same, differs="NumPy's square of bool is bool too")
row("sgn sign", np.sign, shapes=MATRIX, dtypes=NUMBERS)
for name in "floor ceil trunc".split():
    row(name, getattr(np, name), shapes=MATRIX, dtypes=REAL, zero_sign=True)
row("rint", np.rint, shapes=MATRIX, dtypes=REAL, zero_sign=True, result=same, differs="NumPy makes floats of integers")
row("fix", np.trunc, shapes=MATRIX, dtypes=REAL, zero_sign=True, result=same)
row("round", lambda x: np.round(x) if x.dtype.kind != "b" else x, shapes=MATRIX, dtypes=FLOATS + INTEGERS,
    zero_sign=True, result=same)
row("round", lambda x, d: np.round(x, d) if x.dtype.kind != "b" else x, between(-99, 99), shapes=MATRIX,
    dtypes=["float64"], calls=[call(1), call(2), call(-1)], result=same, ulp=1, coarse=103,
    why="x * 10^d / 10^d, in 16 bits rounded in between")
row("round_half_away_from_zero", lambda x: np.trunc(x + np.copysign(0.5, x)), between(-99, 99), shapes=MATRIX,
    dtypes=NUMBERS, result=same)
row("iround", lambda x: cast(np.round(x), "int64"), between(-99, 99), shapes=MATRIX, dtypes=REAL,
    result=always("int64"))
for name in "isnan isinf isfinite".split():
    row(name, getattr(np, name), shapes=MATRIX, dtypes=REAL, result=always("bool"), wide=False)
for name in "isposinf isneginf signbit".split():
    row(name, getattr(np, name), shapes=MATRIX, dtypes=FLOATS, result=always("bool"), wide=False)
row("logical_not", np.logical_not, shapes=MATRIX, dtypes=REAL)
row("invert bitwise_not bitwise_invert", np.invert, shapes=MATRIX, dtypes=BITS)
row("bitwise_count", np.bitwise_count, shapes=MATRIX, dtypes=BITS)
row("zeros_like empty_like", np.zeros_like, shapes=MATRIX, dtypes=REAL, wide=False)
row("ones_like", np.ones_like, shapes=MATRIX, dtypes=REAL, wide=False)
row("nan_to_num", np.nan_to_num, shapes=MATRIX, dtypes=FLOATS, wide=False,
    calls=[call(), call(nan=1.5), call(nan=2.0, posinf=7.0, neginf=-7.0)])
row("modf", np.modf, shapes=MATRIX, dtypes=FLOATS, wide=False, zero_sign=True, result=floats)
row("frexp", np.frexp, shapes=MATRIX, dtypes=FLOATS, wide=False, result=lambda dtype: [floats(dtype), "int32"])

# --- two operands: arithmetic ------------------------------------------------------------------------------------
TWO = (awkward, awkward)


def of_bools(function):
    """NumPy rejects bool, or gives int8; Croton's results are bool."""
    def reference(*arrays):
        if any(a.dtype.kind != "b" for a in arrays):
            return function(*arrays)
        results = function(*[a.astype(np.int64) for a in arrays])
        return tuple(r.astype(bool) for r in results) if isinstance(results, tuple) else results.astype(bool)
    return reference


for name, function in {"add": np.add, "sub subtract": np.subtract, "mul multiply": np.multiply}.items():
    for shapes, dtypes in ((PAIRS, [d for d in REAL if d != "bool"]), (BROADCAST, ["float32", "int32"])):
        row(name, of_bools(function), *TWO, shapes=shapes, dtypes=dtypes, result=same)
row("true_div true_divide divide", np.true_divide, *TWO, shapes=PAIRS, dtypes=FLOATS, result=floatx, wide=True)
row("true_div true_divide divide", np.true_divide, *TWO, shapes=PAIRS, dtypes=["int32", "int8", "uint64"], wide=False,
    result=always("float32"), ulp=1, why="the exact quotient rounded twice",
    differs="integers give floatX, and NumPy float64")


def whole_quotient(a, b):
    """Theano's rule: an integer modulo 0 is 0."""
    if np.asarray(a).dtype.kind not in "iub":
        return np.floor_divide(a, b)
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def whole_remainder(a, b):
    if np.asarray(a).dtype.kind not in "iub":
        return np.remainder(a, b)
    return np.where(b == 0, 0, np.remainder(a, np.where(b == 0, 1, b)))


ZERO = "an integer divided by 0 gives 0 without a warning, as NumPy's value"
row("floor_div floor_divide int_div", of_bools(whole_quotient), *TWO, shapes=PAIRS, wide=False, differs=ZERO,
    dtypes=[d for d in REAL if d not in ("bool", "float16")])
row("mod remainder", of_bools(whole_remainder), *TWO, shapes=PAIRS, wide=False, differs=ZERO,
    dtypes=[d for d in REAL if d not in ("bool", "float16")])
row("divmod", of_bools(lambda a, b: (whole_quotient(a, b), whole_remainder(a, b))), *TWO, shapes=PAIRS, wide=False,
    differs=ZERO,
    dtypes=["float64", "float32", "int32", "uint8"])
row("fmod", of_bools(lambda a, b: np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))
                     if a.dtype.kind in "iu" else np.fmod(a, b)), *TWO, shapes=PAIRS, wide=False,
    dtypes=["float64", "float32"] + INTEGERS[:5], differs=ZERO)


def power(a, b):
    """Theano's rule: integers remain integers, and for a negative exponent only the bases 1 and -1 are not 0."""
    if np.asarray(a).dtype.kind not in "iu":
        return np.power(a, b)
    sign = np.where(b % 2 == 0, np.ones_like(a), a)
    inverse = np.where(a == 1, np.ones_like(a), np.where((a.dtype.kind == "i") & (a + 1 == 0), sign, np.zeros_like(a)))
    return np.where(b < 0, inverse, np.power(a, np.where(b < 0, 0, b).astype(b.dtype)))


row("pow power", of_bools(power), *TWO, shapes=PAIRS, dtypes=FLOATS + ["int32", "int8", "uint8", "int64"], **FOUR,
    differs="a negative exponent of integers gives 0 (1 of 1), where NumPy raises")
row("float_power", lambda a, b: np.power(*[x.astype(np.float64).astype(np.longdouble) for x in (a, b)]), *TWO,
    shapes=PAIRS, dtypes=["float64", "float32", "int32"], result=always("float64"), **FOUR)
row("atan2", np.arctan2, *TWO, shapes=PAIRS, dtypes=FLOATS, **FOUR)
for name in "arctan2 hypot logaddexp logaddexp2".split():
    row(name, getattr(np, name), *TWO, shapes=PAIRS, dtypes=FLOATS, ulp=4,
        absolute=3 if name.startswith("log") else 0, why="arctan2, hypot: 4 ULP; logarithms: absolute near 0")
row("xlogy0", through_double(sp.xlogy), positive, positive, shapes=PAIRS, dtypes=FLOATS, wide=False, result=floats,
    ulp=8, why="SciPy's log, times a")
row("xlog1py", through_double(sp.xlog1py), positive, positive, shapes=PAIRS, dtypes=FLOATS, wide=False, result=floats,
    ulp=8, why="SciPy's log1p, times a")
row("polygamma", lambda n, x: np.where((x < 0) & (np.floor(x) == x), np.nan, sp.polygamma(n, np.float64(x))),
    whole(1, 4, "int32"), positive, shapes=PAIRS, dtypes=["float64", "float32"], wide=False, ulp=64,
    why="as docs/internals/ulp.md", result=always("float64"))

def of_order(name, function, orders, arguments, swapped=False, **facts):
    """Two rows: whole orders, whose gradient with respect to the argument is checked; then orders of any kind."""
    facts = dict(ulp=200, why="1e-13 is promised; SciPy's is of some ULP itself", shapes=PAIRS, wide=False) | facts
    in_order = (lambda pair: pair[::-1]) if swapped else (lambda pair: pair)
    row(name, through_double(function), *in_order((only("int32", orders), arguments)), dtypes=["float64", "float32"],
        result=always("float64"), **facts)
    row(name, through_double(function), *in_order((orders, arguments)), result=floats,
        dtypes=["float64", "float32", "float16", "int32"], **facts)


for name, function in {"gammainc": sp.gammainc, "gammaincc": sp.gammaincc}.items():
    of_order(name, function, between(0.5, 8, (1, 8)), between(0.2, 12, (1, 12)))
for name, function in {"gammal": sp.gammainc, "gammau": sp.gammaincc}.items():
    of_order(name, lambda a, x, function=function: function(a, x) * sp.gamma(a), between(0.5, 8, (1, 8)),
             between(0.2, 12, (1, 12)), ulp={"float64": 200, "float32": 4, "float16": 4})
of_order("chi2sf", lambda x, k: np.where(k == 0, np.nan, np.where(x < 0, 1, sp.gammaincc(k / 2, x / 2))),
         between(1, 8, (1, 8)), between(0.2, 12, (1, 12)), swapped=True)
of_order("jv", limit(sp.jv, 0), between(-0.9, 12, (-3, 8)), between(0.2, 30, (1, 30)), ulp=400, absolute=450,
         why="an absolute error below 1e-13 is promised")
of_order("iv", limit(sp.iv, np.inf), between(-0.9, 12, (-3, 8)), between(0.2, 30, (1, 30)), ulp=400)

# --- two operands: choices and neighbours ------------------------------------------------------------------------
for name in "maximum minimum fmax fmin".split():
    for shapes, dtypes in ((PAIRS, REAL), (BROADCAST, ["float32", "int32"])):
        row(name, getattr(np, name), *TWO, shapes=shapes, dtypes=dtypes)
row("copysign", np.copysign, *TWO, shapes=PAIRS, dtypes=FLOATS, zero_sign=True)
row("nextafter", lambda a, b: np.nextafter(*[x if x.dtype.kind == "f" else x.astype(floats(x.dtype)) for x in (a, b)]),
    *TWO, shapes=PAIRS, dtypes=["float64", "float32"], wide=False, result=floats, left_out=SIXTEEN)
row("nextafter", np.nextafter, plain, plain, shapes=PAIRS, dtypes=["float16"], wide=False, result=floats, own=True,
    differs="where two float16 zeros differ in sign, NumPy's gives the first")
row("heaviside", np.heaviside, *TWO, shapes=PAIRS, dtypes=FLOATS)
row("ldexp", lambda x, e: np.ldexp(x, e.astype(np.int64)), awkward, whole(-12, 12, "int32"), shapes=PAIRS,
    dtypes=["float64", "float32"])
row("fill", lambda a, b: np.broadcast_to(b, a.shape), *TWO, shapes=PAIRS, dtypes=REAL)
for names, function in {
        "lt less": np.less, "le less_equal": np.less_equal, "gt greater": np.greater,
        "ge greater_equal": np.greater_equal, "eq equal": np.equal, "neq not_equal": np.not_equal
}.items():
    row(names, function, *TWO, shapes=PAIRS, dtypes=["float64", "float32", "int8", "int64", "uint64", "bool"],
        result=always("bool"))
for name in "logical_and logical_or logical_xor".split():
    row(name, getattr(np, name), *TWO, shapes=PAIRS, dtypes=["float64", "int8", "uint64", "bool"],
        result=always("bool"))
row("isclose", np.isclose, *TWO, shapes=PAIRS, dtypes=["float64", "float32"], wide=False, result=always("bool"),
    calls=[call(), call(rtol=0.5, atol=0.1), call(equal_nan=True)])
row("allclose", lambda a, b, **o: np.array(np.allclose(a, b, **o)), plain, plain, shapes=PAIRS, dtypes=["float64"],
    calls=[call(), call(rtol=10.0, atol=1.0)], result=always("bool"))

# --- whole numbers -----------------------------------------------------------------------------------------------
for names, function in {"and_ bitwise_and": np.bitwise_and, "or_ bitwise_or": np.bitwise_or,
                        "xor bitwise_xor": np.bitwise_xor}.items():
    row(names, function, *TWO, shapes=PAIRS, dtypes=BITS)
for name in "left_shift right_shift bitwise_left_shift bitwise_right_shift".split():
    row(name, getattr(np, name), awkward, between(0, 7), shapes=PAIRS, dtypes=INTEGERS,
        differs="shifts by no bit of the type are defined; here they stay inside")
for name in "gcd lcm".split():
    row(name, getattr(np, name), plain, plain, shapes=PAIRS, dtypes=["int32", "int64", "uint8", "int16"])

# --- three operands, casts, scalars ------------------------------------------------------------------------------
for shapes, dtypes in ((twice(MATRIX,
                              3), REAL), ((((5, 11), (5, 11), (one, 11)), ((0, 3), (0, 3), (one, 3))), ["int32"])):
    row("where switch", np.where, only("bool", awkward), awkward, awkward, shapes=shapes, dtypes=dtypes)
row("clip", lambda x, low, high: np.minimum(np.maximum(x, np.int8(low)), np.int8(high)), awkward, shapes=MATRIX,
    dtypes=[d for d in REAL if d not in ("bool", "uint8", "uint64")], calls=[call(-1, 1), call(2, -2)])


def cast(x, dtype):
    """Truncates and saturates, and nan gives 0, in steps that NumPy defines."""
    dtype = np.dtype(dtype)
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    low, high = (int(v) for v in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    exact = [0 if v != v else max(low, min(high, high if v == np.inf else low if v == -np.inf else int(v)))
             for v in x.ravel().tolist()]
    return np.array(exact, dtype).reshape(x.shape)


row("cast", cast, shapes=MATRIX, dtypes=REAL, wide=False, calls=[call(d) for d in REAL], zero_sign=True,
    differs="float to integer saturates and nan gives 0; NumPy's is undefined")
row("cast", lambda x, dtype: x.astype(dtype), shapes=MATRIX, wide=False, calls=[call(d) for d in COMPLEX],
    dtypes=["float64", "float32", "int32", "uint8", "bool", "complex64", "complex128"])
row("cast", lambda x, _: x, shapes=MATRIX, calls=[call("bfloat16")], dtypes=REAL, result=always("bfloat16"))
row("add_n", lambda x, y: x + y + x, *TWO, shapes=PAIRS, dtypes=["float32", "float64", "int32"], ulp=1, wide=False,
    why="a sum of three rounds twice", build=lambda f, x, y: f([x, y, x]))
for name, function in {"largest": np.maximum, "smallest": np.minimum}.items():
    row(name, function, *TWO, shapes=PAIRS, dtypes=REAL, build=lambda f, x, y: f(x, y, x))

# Scalars, and tensors with three axes, for a few of them.
for names, function in {"exp": np.exp, "sqrt": np.sqrt}.items():
    for shapes in (SCALAR, TENSOR3):
        row(names, function, shapes=shapes, dtypes=["float64", "float32", "int32"], result=floats, **FOUR)
for names, function in {"add": np.add, "maximum": np.maximum, "lt": np.less}.items():
    for shapes in (SCALAR, TENSOR3):
        row(names, function, *TWO, shapes=twice(shapes), dtypes=["float64", "float32", "int8"])
