"""Compares a result with the exact one: its dtype, its shape, and the distance of its numbers."""

import numpy as np

from samples import rounded


def wide(array):
    """The number as precise as NumPy has it, so that the reference is rounded once: in the comparison."""
    array = np.asarray(array)
    wider = {"float16": np.float64, "float32": np.float64, "float64": np.longdouble, "complex64": np.complex128,
             "complex128": np.clongdouble}.get(array.dtype.name)
    return array if wider is None else array.astype(wider)


class Bfloat16:
    """Facts about bfloat16, which NumPy lacks; its numbers are stored as float32."""
    eps, max = 2.0**-7, float.fromhex("0x1.fep127")

    @staticmethod
    def spacing(x):
        return np.maximum(np.exp2(np.floor(np.log2(np.abs(x))) - 7), 2.0**-133)


def facts(dtype):
    return Bfloat16 if dtype == "bfloat16" else np.finfo(dtype)


def narrowed(wide, dtype):
    """The numbers rounded to the dtype."""
    return rounded(wide) if dtype == "bfloat16" else wide.astype(dtype)


def spacing(x, dtype):
    return Bfloat16.spacing(x) if dtype == "bfloat16" else np.spacing(x)


def distance(got, wanted, dtype=None):
    """The distance in ULP of the dtype, by default that of `got`, per element: 0 for equal values and two nans, inf
    where one only is nan. An overflow counts from the largest finite number."""
    dtype = dtype or got.dtype
    info = facts(dtype)
    wanted = np.asarray(wanted)
    with np.errstate(all="ignore"):
        near = narrowed(wanted, dtype)
        top = np.longdouble(info.max)
        a, b = np.clip(got.astype(np.longdouble), -top, top), np.clip(wanted.astype(np.longdouble), -top, top)
        place = spacing(np.minimum(np.abs(near), near.dtype.type(info.max)), dtype).astype(np.longdouble)
        far = np.abs(a - b) / np.where(np.isnan(place) | (place <= 0), 1, place)
    # If the exact value is halfway between two numbers, within its precision, both are right.
    tie = (near != wanted) & (far <= 0.501)
    same = tie | (got == near) | (np.isnan(got) & np.isnan(near))
    far = np.where(same, 0, np.where(np.isnan(got) | np.isnan(near), np.inf, far))
    infinite = np.isinf(got) & np.isinf(near) & (got != near)
    return np.where(infinite, np.inf, far)


def fault(got, wanted, ulp=0, absolute=0.0, zero_sign=False, dtype=None):
    """None, or the fault of `got` compared with the exact value `wanted`: at most `ulp` units of the last place of the
    dtype (by default of `got`), or `absolute`, are allowed between them."""
    wanted = np.asarray(wanted)
    if got.shape != wanted.shape:
        return f"the shape is {got.shape}, not {wanted.shape}"
    if got.dtype.kind == "c":
        # Relative to the larger part: a small part next to a large one is as uncertain as that one.
        eps = float(np.finfo(got.dtype).eps)
        with np.errstate(all="ignore"):
            exact = wanted.astype(np.complex128)
            error = np.abs(got.astype(np.complex128) - exact)
            near = error <= np.maximum(max(ulp, 1) * eps * np.abs(exact), absolute)
        bad = ~(near | (got == wanted.astype(got.dtype)) | (np.isnan(got) & np.isnan(exact)))
    elif got.dtype.kind == "f":
        bad = distance(got, wanted, dtype) > ulp
        if absolute:
            with np.errstate(all="ignore"):
                bad &= ~(np.abs(got.astype(np.longdouble) - wanted) <= absolute)
        if zero_sign:
            bad |= (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    else:
        bad = got != wanted
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {got.size} elements differ, first at {at}: {got[at]!r}, not {wanted[at]!r}"


def self_test():
    """Checks that the comparison finds faults: an oracle that accepts everything would be silent too."""
    right = np.array([1.0, np.nan, np.inf, -0.0, 5e-324, 1e308])
    assert fault(right, right.astype(np.longdouble), zero_sign=True) is None
    for at, wrong in enumerate([np.nextafter(1.0, 2), 0.0, -np.inf, 0.0, 1e-323, np.inf]):
        broken = right.copy()
        broken[at] = wrong
        assert fault(broken, right, zero_sign=True), f"{wrong} passes for {right[at]}"
    assert fault(right[:1] * (1 + 2**-50), right[:1], ulp=2) and not fault(right[:1] * (1 + 2**-50), right[:1], ulp=4)
    assert fault(right, right[:, None]) and fault(np.array([1, 2]), np.array([1, 3])) and fault(
        np.array([True]), np.array([False]))
    narrow = np.array([1.0, 0.0, np.inf, 2.0**127], np.float32)
    assert fault(narrow, narrow * (1 + 2**-9), dtype="bfloat16") is None
    assert fault(narrow, narrow * (1 + 2**-6), dtype="bfloat16", ulp=1) and fault(narrow, narrow * (1 + 2**-9))
    z = np.array([1 + 2j, complex(np.nan, 0)])
    assert fault(z, z) is None and fault(z, z + [1e-10, 0]) and fault(z, np.array([1 + 2j, 0]))
