"""Inputs of operations: draws (values of one operand), shapes, and difficult memory layouts."""

import zlib

import numpy as np

FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["int32", "int8", "int64", "uint8", "uint64", "int16", "uint16", "uint32"]
REALS = FLOATS + INTEGERS + ["bool"]
COMPLEX = ["complex128", "complex64"]
DTYPES = REALS + ["bfloat16"] + COMPLEX


class One(int):
    """A size 1 that the type of the variable declares, so that it broadcasts."""

    def __new__(cls):
        return super().__new__(cls, 1)


one = One()


def generator(*key):
    """The random numbers of an entry of the table: the same in every run and on every machine."""
    return np.random.Generator(np.random.PCG64(zlib.crc32(repr(key).encode())))


def awkward(dtype, shape, random):
    """Numbers of all sizes, with difficult ones: nan, inf, -0.0, denormals, extreme integers."""
    dtype, count = np.dtype(dtype), int(np.prod(shape))
    if dtype.kind == "c":
        part = "float32" if dtype == np.complex64 else "float64"
        return awkward(part, shape, random).astype(dtype) + dtype.type(1j) * random.uniform(-4, 4, shape).astype(part)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, 8, 63, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        special += [-1, -2, -7, -100] if dtype.kind == "i" else []
        values = np.array(special, dtype)
        rest = random.integers(0 if dtype.kind == "u" else -50, 50, count).astype(dtype)
    else:
        info = np.finfo(dtype)
        special = [np.nan, np.inf, 0, 1, 2, 0.5, 1.5, 2.5, 0.1, 3.7, 7, 30.5, 1e-3, 1000, 0.99999, info.max,
                   info.smallest_normal, info.smallest_subnormal]
        values = np.array(special + [-v for v in special], dtype)
        rest = random.uniform(-4, 4, count).astype(dtype)
    chosen = random.permutation(np.concatenate([values, rest]))[:count]
    return chosen.reshape(shape)


def between(low, high, whole=None):
    """Numbers of an interval; for integer dtypes whole numbers of `whole` (or of the same interval)."""

    def draw(dtype, shape, random):
        dtype = np.dtype(dtype)
        first, last = whole or (low, high)
        if dtype.kind == "b":
            return random.integers(min(max(first, 0), 1), 2, shape).astype(bool)
        if dtype.kind in "iu":
            if dtype.kind == "u":
                first, last = max(first, 0), max(last, 0)
            return random.integers(first, last + 1, shape).astype(dtype)
        x = random.uniform(low, high, shape)
        if dtype.kind == "c":
            x = x + 1j * random.uniform(low, high, shape)
        return np.asarray(x).astype(dtype)

    draw.interval = (low, high)
    return draw


plain = between(-4, 4, (-9, 9))
finite = between(-3, 3)
positive = between(0.3, 4, (1, 9))
unit = between(0.05, 0.95, (0, 1))


def only(dtype, draw, role=""):
    """An operand whose dtype does not vary with the others': positions, a condition."""

    def fixed(_, shape, random):
        return draw(dtype, shape, random)

    fixed.fixed, fixed.draw, fixed.dtype = True, draw, dtype
    fixed.role = role or ("condition" if dtype == "bool" else "positions" if dtype == "int64" else "order")
    return fixed


def whole(first, last, dtype="int64", role=""):
    return only(dtype, between(first, last), role)


def rounded(array):
    """float32 numbers that are bfloat16 numbers; NumPy has no such dtype."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    near = (bits + np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xffff0000)
    return np.where(np.isnan(array), np.float32(np.nan), near.view(np.float32))


def drawn(draw, dtype, shape, random):
    """Numbers of any dtype; bfloat16 in float32. Complex numbers of all sizes would overflow in most operations: these
    are finite."""
    draw = getattr(draw, "draw", draw)
    if dtype == "bfloat16":
        return rounded(draw("float32", shape, random))
    if dtype in COMPLEX and draw is awkward:
        return finite(dtype, shape, random)
    return np.asarray(draw(dtype, shape, random))


def sorted_draw(dtype, shape, random):
    return np.sort(plain(dtype, shape, random))


def sorted_awkward(dtype, shape, random):
    return np.sort(awkward(dtype, shape, random))


def shuffled(dtype, shape, random):
    return random.permutation(shape[0]).astype(dtype)


permutation = only("int64", shuffled)


def with_ties(dtype, shape, random):
    """Few different numbers, with nan and both zeros: sorting and searching must order them all."""
    if np.dtype(dtype).kind == "f":
        return random.choice(np.array([1, 2, 0.0, -0.0, -1, np.inf, -np.inf, np.nan, 3], dtype), shape)
    return between(-3, 3)(dtype, shape, random)


def placed(array, layout, random):
    """The same values with another memory layout."""
    if not array.ndim and layout in ("Fortran order", "negative strides"):
        return array  # NumPy would make it a vector
    if layout == "Fortran order":
        return np.asfortranarray(array)
    if layout == "negative strides":
        turned = tuple(slice(None, None, -1) for _ in array.shape)
        return np.ascontiguousarray(array[turned])[turned]
    if layout == "every second":
        wide = np.repeat(array, 2, axis=-1) if array.ndim else array
        return wide[..., ::2] if array.ndim else array
    if layout == "read-only":
        copy = array.copy()
        copy.flags.writeable = False
        return copy
    if layout == "misaligned":
        block = np.zeros(array.nbytes + 1, np.uint8)
        view = block[1:].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view
    return array


LAYOUTS = ["Fortran order", "negative strides", "every second", "read-only", "misaligned"]
