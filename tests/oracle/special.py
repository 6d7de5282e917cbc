"""Special values: nan, infinities and -0 of floats, the extremes of integers."""

import numpy as np

from dtypes import varying
from samples import REALS

FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0}
INTEGERS = {"largest": "max", "lowest": "min"}


def kinds(case, arrays, seen):
    """The kinds of special values in the operands that vary, without those that were seen."""
    found = set()
    for i in varying(case.row):
        a = arrays[i]
        if a.dtype.kind == "f":
            tests = {"nan": np.isnan, "inf": np.isposinf, "-inf": np.isneginf, "-0": lambda x: (x == 0) & np.signbit(x)}
            found |= {kind for kind, test in tests.items() if kind not in seen and test(a).any()}
        elif a.dtype.kind in "iu":
            info = np.iinfo(a.dtype)
            found |= {kind for kind, name in INTEGERS.items() if kind not in seen and (a == getattr(info, name)).any()}
    return found


def dtypes(row, taken):
    """The dtypes for planted special values: none if a row has complex numbers, or gives a reason."""
    real = set(row.dtypes) & set(REALS)
    return [dtype for dtype in ("float32", "int32") if real and dtype in taken and dtype not in row.special]


def planted(row, arrays):
    """{description: set of arrays}: one special value each, in each operand that varies."""
    sets = {}
    for i in varying(row):
        a = arrays[i]
        values = FLOATS if a.dtype.kind == "f" else {k: getattr(np.iinfo(a.dtype), n) for k, n in INTEGERS.items()}
        for kind, value in values.items():
            b = a.copy()
            b.reshape(-1)[a.size // 2] = value
            sets[f"{kind} in operand {i + 1}"] = arrays[:i] + (b,) + arrays[i + 1:]
    return sets
