# !/usr/bin/env python3
"""Writes expected_complex.hpp: values of the elementwise functions of complex numbers, by NumPy.

Run it again after adding a function, and commit the result:

    python3 tests/ops/make_expected_complex.py > tests/ops/expected_complex.hpp
"""

import warnings

import numpy as np

INF, NAN = float("inf"), float("nan")

PARTS = [-3.5, -0.25, 0.0, 0.5, 2.0]
POINTS = [complex(x, y) for x in PARTS for y in PARTS] + [1e-9 + 1e-12j, -1e-9 + 0.7j, 30.5 - 20.25j, 0.6 + 0.8j]
NONZERO = [z for z in POINTS if z != 0]

UNARY = {
    "neg": (np.negative, POINTS), "sqr": (np.square, POINTS), "reciprocal": (lambda z: 1 / z, NONZERO), "abs": (np.abs, POINTS),
    "sgn": (np.sign, POINTS), "real": (np.real, POINTS), "imag": (np.imag, POINTS), "conj": (np.conj, POINTS),
    "angle": (np.angle, POINTS), "exp": (np.exp, POINTS), "exp2": (np.exp2, POINTS), "log": (np.log, NONZERO),
    # NumPy's log1p is log(1 + z), which is not exact near 0.
    "expm1": (np.expm1, POINTS), "log1p": (np.log1p, [z for z in POINTS if abs(z) > 1e-3]),
    "log2": (np.log2, NONZERO), "log10": (np.log10, NONZERO), "sqrt": (np.sqrt, POINTS), "rsqrt": (lambda z: 1 / np.sqrt(z), NONZERO),
    "sin": (np.sin, POINTS), "cos": (np.cos, POINTS), "tan": (np.tan, POINTS), "sinh": (np.sinh, POINTS), "cosh": (np.cosh, POINTS),
    "tanh": (np.tanh, POINTS), "isnan": (np.isnan, POINTS), "isinf": (np.isinf, POINTS),
}
PAIRS = [(a, b) for a in NONZERO[::3] for b in NONZERO[1::6]]
BINARY = {
    "add": (np.add, PAIRS), "sub": (np.subtract, PAIRS), "mul": (np.multiply, PAIRS), "true_divide": (np.true_divide, PAIRS),
    "pow": (np.power, PAIRS), "eq": (np.equal, PAIRS + [(a, a) for a in POINTS[:4]]),
    "neq": (np.not_equal, PAIRS + [(a, a) for a in POINTS[:4]]),
}

# Values by NumPy, or by annex G of C99, at zeros, infinities and nans.
SPECIAL_UNARY = [
    ("abs", complex(INF, NAN)), ("abs", complex(NAN, -INF)), ("abs", complex(3e300, 4e300)), ("abs", complex(3e-310, 4e-310)),
    ("sgn", complex(INF, 1)), ("sgn", complex(2, -INF)), ("sgn", complex(INF, INF)), ("sgn", complex(NAN, 1)),
    ("exp", complex(-INF, INF)), ("exp", complex(INF, 0.0)), ("exp", complex(709.9, 0.75)), ("log", 0j), ("log", complex(-0.0, 0.0)),
    ("log", complex(-INF, 2)), ("log", complex(1e300, 1e300)), ("sqrt", complex(-4, -0.0)), ("sqrt", complex(-4, 0.0)),
    ("sqrt", complex(-INF, 3)), ("sqrt", complex(NAN, INF)), ("sqrt", complex(1e308, 1e308)), ("sinh", complex(INF, 0.0)),
    ("cosh", complex(0.0, NAN)), ("tanh", complex(INF, 2)), ("tanh", complex(800, 1)), ("sin", complex(1, 720)), ("isnan", complex(1, NAN)),
    ("isnan", complex(INF, 1)), ("isinf", complex(NAN, -INF)), ("isinf", complex(1, NAN)), ("conj", complex(1, -0.0)),
    ("angle", complex(-0.0, 0.0)), ("angle", complex(-1, -0.0)),
]
SPECIAL_BINARY = [
    ("mul", complex(INF, 0), complex(0, 1)), ("mul", complex(1e200, 1), complex(1e200, 1)), ("true_divide", 1 + 2j, 0j),
    ("true_divide", 0j, 0j), ("true_divide", complex(1e300, 1e300), complex(2e300, 1e300)), ("true_divide", 1 + 1j, complex(0, INF)),
    ("pow", 0j, 0j), ("pow", 0j, 2 + 0j), ("pow", 2 + 1j, 3 + 0j), ("pow", 1j, -2 + 0j), ("eq", complex(NAN, 0), complex(NAN, 0)),
    ("neq", complex(NAN, 0), complex(NAN, 0)), ("eq", complex(0.0, -0.0), complex(-0.0, 0.0)),
]


def text(x):
    x = float(x)
    if x != x:
        return "nan_"
    if x in (INF, -INF):
        return ("-" if x < 0 else "") + "inf_"
    return x.hex()


def pair(z):
    z = complex(z)
    return f"{{{text(z.real)}, {text(z.imag)}}}"


def main():
    warnings.simplefilter("ignore")
    print("// Made by make_expected_complex.py; do not edit. The values are NumPy's.")
    print("// clang-format off")
    print("#pragma once\n\n#include <complex>\n#include <limits>\n#include <string_view>\n")
    print("namespace croton_test {\n")
    print("inline constexpr double inf_ = std::numeric_limits<double>::infinity();")
    print("inline constexpr double nan_ = std::numeric_limits<double>::quiet_NaN();\n")
    print("struct ExpectedComplexUnary {\n  std::string_view op;\n  std::complex<double> z, value;\n};")
    print("struct ExpectedComplexBinary {\n  std::string_view op;\n  std::complex<double> a, b, value;\n};\n")
    print("inline constexpr ExpectedComplexUnary expected_complex_unary[] = {")
    rows = [(name, z, f) for name, (f, points) in UNARY.items() for z in points]
    rows += [(name, z, UNARY[name][0]) for name, z in SPECIAL_UNARY]
    for name, z, f in rows:
        print(f'    {{"{name}", {pair(z)}, {pair(f(np.complex128(z)))}}},')
    print("};\n\ninline constexpr ExpectedComplexBinary expected_complex_binary[] = {")
    rows = [(name, a, b, f) for name, (f, pairs) in BINARY.items() for a, b in pairs]
    rows += [(name, a, b, BINARY[name][0]) for name, a, b in SPECIAL_BINARY]
    for name, a, b, f in rows:
        print(f'    {{"{name}", {pair(a)}, {pair(b)}, {pair(f(np.complex128(a), np.complex128(b)))}}},')
    print("};\n\n}  // namespace croton_test")


if __name__ == "__main__":
    main()
