"""The table: a row for each public operation. Rows are added by the modules table_*.py."""

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from compare import facts
from samples import REALS, awkward


@dataclass
class Call:
    """The arguments after the variables in a call; the same for Croton and for the reference."""

    args: tuple = ()
    kwargs: dict = field(default_factory=dict)

    def __str__(self):
        return ", ".join([repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()])


def call(*args, **kwargs):
    return Call(args, kwargs)


@dataclass
class Row:
    name: str  # in croton.tensor; names in croton.nnet begin with "nnet."
    reference: Callable  # on NumPy arrays, with the arguments of the call
    draws: tuple = (awkward,)  # for each operand
    shapes: tuple = ()  # each a tuple with the shape of each operand; all of one rank
    calls: list = field(default_factory=lambda: [Call()])
    dtypes: list = field(default_factory=lambda: list(REALS))  # all sampled dtypes
    result: Any = None  # dtype of the result (or of each) given that of the operands that vary; None: the reference's
    ulp: Any = 0  # a number, or one for each dtype
    absolute: float = 0.0  # allowed instead of ulp, in units of the precision at 1 (of float32 for narrower dtypes)
    coarse: float = 0.0  # the same for 16 bits, in units of their own precision: if steps are stored in between
    why: str = ""  # the reason for a tolerance that is not 0
    differs: str = ""  # how NumPy differs, on purpose
    build: Callable | None = None  # (function, *variables, *args, **kwargs); None: the plain call
    layouts: bool = True
    wide: bool = True  # may the reference compute in wider numbers?
    zero_sign: bool = False  # must zeros have the sign of the reference's?
    interval: tuple = (0.3, 0.9)  # in which gradients are checked
    other_gradient: str = ""  # why its gradient is not the slope of its value
    left_out: dict = field(default_factory=dict)  # dtypes that are accepted and not compared: why
    own: bool = False  # compared only in its own dtypes: another row of the operation has the others
    special: dict = field(default_factory=dict)  # dtypes for which no special values are planted: why
    refusals: list = field(default_factory=list)  # (arrays, args) that raise, when built or called

    def tolerance(self, dtype):
        """The tolerance in ULP of the result's dtype; a dtype without an entry has that of the related dtype."""
        if not isinstance(self.ulp, dict):
            return self.ulp
        other = {"bfloat16": "float16", "complex64": "float32", "complex128": "float64"}.get(dtype)
        return self.ulp.get(dtype, self.ulp.get(other, 0))

    def margin(self, dtype):
        eps = float(facts(dtype).eps)
        return max(self.absolute * min(eps, float(facts("float32").eps)), self.coarse * eps * (eps > 1e-4))


ROWS: list[Row] = []


def row(name, reference, *draws, **facts):
    """Adds a row. `name` may be several words: each is another name of the operation, and gets a separate row."""
    for each in name.split():
        ROWS.append(Row(each, reference, draws or (awkward,), **facts))


def floats(dtype):
    """For functions with real results: small integers give float32, others float64."""
    dtype = np.dtype(dtype)
    return dtype.name if dtype.kind in "fc" else "float32" if dtype.itemsize <= 2 else "float64"


def floatx(dtype):
    """For compositions: integers of any size give floatX, as a quotient of two does."""
    dtype = np.dtype(dtype)
    return dtype.name if dtype.kind in "fc" else "float32"


def magnitudes(dtype):
    """Real dtypes for complex ones, and floatX for integers."""
    return {"complex64": "float32", "complex128": "float64"}.get(np.dtype(dtype).name, floatx(dtype))


def same(dtype):
    return np.dtype(dtype).name


def sums(dtype):
    kind = np.dtype(dtype).kind
    return {"i": "int64", "b": "int64", "u": "uint64"}.get(kind, np.dtype(dtype).name)


def means(dtype):
    return np.dtype(dtype).name if np.dtype(dtype).kind in "fc" else "float64"


def spreads(dtype):
    return {"complex64": "float32", "complex128": "float64"}.get(np.dtype(dtype).name, means(dtype))


def always(name):
    return lambda _: name


# Shapes that most rows share: a full one first, which is tested with awkward memory layouts.
MATRIX = (((5, 11),), ((0, 3),), ((1, 1),), ((3, 0),), ((2, 5),))
FILLED = (((5, 7),), ((1, 1),), ((2, 5),), ((1, 9),))  # for operations that need elements
VECTOR = (((17,),), ((0,),), ((1,),), ((5,),))
FILLED_VECTOR = (((17,),), ((1,),), ((6,),))
SCALAR = (((),), ((),), ((),))
TENSOR3 = (((2, 3, 4),), ((1, 0, 2),), ((1, 1, 1),))


def twice(shapes, times=2):
    return tuple(s * times for s in shapes)
