"""Elementwise functions, with Theano's names. Arguments are variables, numbers, arrays and lists; they broadcast."""

import functools
import operator

from croton import _croton

from ..croton_op import CrotonOp
from ..graph import Apply
from ..wrapping import as_variable, wrap

# Theano's name -> Croton's, with one argument.
_UNARY = {
    name: name for name in """exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan tanh sinh cosh arcsin arccos arctan
    arcsinh arccosh arctanh deg2rad rad2deg sqr floor ceil trunc isnan isinf erf erfc erfcx erfinv erfcinv gamma gammaln
    psi tri_gamma i0 i1 j0 j1 real imag conj angle""".split()
} | {"abs_": "abs", "sgn": "sgn", "inv": "reciprocal", "neg": "negative", "invert": "bitwise_not", "square": "sqr",
     "bitwise_not": "bitwise_not", "sigmoid": "sigmoid", "softplus": "softplus", "cosh": "cosh", "xlogx": "xlogx",
     "round_half_to_even": "rint", "round_half_away_from_zero": "round_half_away_from_zero"}

_BINARY = {
    "sub": "subtract", "true_div": "true_divide", "int_div": "int_div", "mod": "remainder", "pow": "pow", "lt": "less",
    "gt": "greater", "le": "less_equal", "ge": "greater_equal", "eq": "eq", "neq": "neq", "arctan2": "arctan2",
    "chi2sf": "chi2sf", "gammainc": "gammainc", "gammaincc": "gammaincc", "gammau": "gammau", "gammal": "gammal",
    "jv": "jv", "iv": "iv", "fill": "fill", "second": "fill", "xlogy0": "xlogy0", "complex": "complex",
    "complex_from_polar": "complex_from_polar", "floor_div": "int_div",
}

_INFINITE_ARITY = {"add": "add", "mul": "multiply", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
                   "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
                   "maximum": "maximum", "minimum": "minimum"}


_TERNARY = {"switch": "where", "clip": "clip"}

# Names of Croton's ops in graphs -> Theano's names, if they differ.
_SHOWN = {"true_divide": "true_div", "floor_divide": "int_div", "reciprocal": "inv", "abs": "abs_", "and": "and_",
          "or": "or_", "where": "switch", "rint": "round_half_to_even", "round": "round_half_to_even"}


def _of_floats(function):
    """floor, ceil or trunc, which give floats for integers in Theano."""
    def apply(x):
        return function(x if x.dtype.startswith(("float", "complex")) else _croton.cast(x, _croton.exp(x).dtype))

    apply.__doc__ = function.__doc__
    return apply


def _of_ordered(function, greater):
    """maximum or minimum; complex numbers are compared by the real and then the imaginary part, as in NumPy."""
    def apply(a, b):
        if not (a.dtype.startswith("complex") or b.dtype.startswith("complex")):
            return function(a, b)
        a, b = (x if x.dtype.startswith("complex") else _croton.complex(x, _croton.zeros_like(x)) for x in (a, b))
        first = (a.real > b.real) if greater else (a.real < b.real)
        then = (a.imag >= b.imag) if greater else (a.imag <= b.imag)
        takes_a = first | (_croton.eq(a.real, b.real) & then) | _croton.isnan(a.real) | _croton.isnan(a.imag)
        return _croton.where(takes_a, a, b)

    apply.__doc__ = function.__doc__
    return apply


class ComplexError(TypeError):
    """An operation that is not defined for complex numbers."""


def _second(a, b):
    """b, broadcast to the common shape of a and b."""
    shape = a.broadcastable[max(0, a.ndim - b.ndim):]
    if b.ndim <= a.ndim and not any(one and not other for one, other in zip(shape, b.broadcastable)):
        return _croton.fill(a, b)
    return _croton.where(_croton.eq(a, a), b, b)  # b in both cases; the condition broadcasts


def remainder(a, b):
    """The remainder, with the sign of b, of Croton's variables. ComplexError for complex numbers."""
    if a.dtype.startswith("complex") or b.dtype.startswith("complex"):
        raise ComplexError("theano.tensor.mod: complex numbers have no remainder")
    return a % b


# Functions that differ from Croton's functions of these names.
_SPECIAL = {"add": operator.add, "fill": _second, "remainder": remainder,
            "maximum": _of_ordered(_croton.maximum, True), "minimum": _of_ordered(_croton.minimum, False),
            **{name: _of_floats(getattr(_croton, name)) for name in ("floor", "ceil", "trunc")}}


def _lookup(name):
    return _SPECIAL[name] if name in _SPECIAL else getattr(_croton, name)


class Elemwise(CrotonOp):
    """Elemwise(scalar_op)(*inputs): the function named scalar_op.name of each element; inputs broadcast."""

    def __init__(self, scalar_op, inplace_pattern=None, name=None, nfunc_spec=None, openmp=None):
        self._scalar_op, self._name = scalar_op, name

    @property
    def scalar_op(self):
        if "_scalar_op" in vars(self):
            return self._scalar_op
        shown = _SHOWN.get(self.croton_name, self.croton_name)
        return globals()[shown] if shown in _TABLE else CrotonOp.shown_as(shown)

    @property
    def name(self):
        return vars(self).get("_name") or getattr(self.scalar_op, "name", self.croton_name)

    def build(self, *inputs):
        return self.scalar_op(*inputs)

    def __eq__(self, other):
        return isinstance(other, Elemwise) and self.name == other.name and self._is_inplace == other._is_inplace

    def __hash__(self):
        return hash((Elemwise, self.name))

    _is_inplace = False

    def __str__(self):
        return f"Elemwise{{{self.name},no_inplace}}"

    __repr__ = __str__


class Elementwise(Elemwise):
    """An elementwise function, such as theano.tensor.exp. Arguments are variables, numbers, arrays or lists; they
    broadcast."""

    def __init__(self, name, function, min_args, max_args, suffix=""):
        super().__init__(self, name=name + suffix)
        self.__name__ = name + suffix
        self.__doc__ = function.__doc__
        self._function, self._min_args, self._max_args = function, min_args, max_args
        self._is_inplace = bool(suffix)

    def __call__(self, *inputs, **kwargs):
        name = kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"{self.name}() got unexpected keyword arguments {sorted(kwargs)}")
        if not self._min_args <= len(inputs) <= self._max_args:
            raise TypeError(f"{self.name}() takes {self._min_args} arguments, not {len(inputs)}")
        operands = [as_variable(x)._croton for x in inputs]
        has_fixed_arity = self._max_args < _ANY
        result = wrap(self._function(*operands) if has_fixed_arity else functools.reduce(self._function, operands))
        if name is not None:
            result.name = name
        if self._is_inplace:
            result = cast(result, as_variable(inputs[0]).dtype)
            result._written_to = inputs[0]  # for theano.function
        return result

    def make_node(self, *inputs):
        """The application of the op to inputs."""
        result = self(*inputs)
        return result.owner or Apply(self, [as_variable(x) for x in inputs], [result])

    def __str__(self):
        return self.name if self._is_inplace else super().__str__()

    __repr__ = __str__

    def __reduce__(self):
        return _by_name, (self.name,)


def _by_name(name):
    return globals().get(name) or inplace_functions()[name]


_ANY = 1 << 16
_TABLE = {**{name: (croton_name, 1, 1) for name, croton_name in _UNARY.items()},
          **{name: (croton_name, 2, 2) for name, croton_name in _BINARY.items()},
          **{name: (croton_name, 3, 3) for name, croton_name in _TERNARY.items()},
          **{name: (croton_name, 1, _ANY) for name, croton_name in _INFINITE_ARITY.items()}}
Elemwise.show("cast", *_SHOWN, *_TABLE)
globals().update({name: Elementwise(name, _lookup(croton_name), min_args, max_args)
                  for name, (croton_name, min_args, max_args) in _TABLE.items()})


# NumPy's names of elementwise functions, if they differ. Equality compares objects.
_NUMPY = {"multiply": "mul", "subtract": "sub", "divide": "true_div", "true_divide": "true_div",
          "floor_divide": "int_div", "remainder": "mod", "power": "pow", "absolute": "abs_", "negative": "neg",
          "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "sign": "sgn", "square": "sqr",
          "reciprocal": "inv", "conjugate": "conj", "rint": "round_half_to_even", "equal": None, "not_equal": None}


def of_numpy(name):
    """The function with this name in NumPy; None if there is none."""
    return globals().get(_NUMPY.get(name, name)) if _NUMPY.get(name, name) in _TABLE else None


def inplace_functions():
    """The functions of theano.tensor.inplace: elementwise functions under names that end in _inplace. Croton decides
    where results are written; only mutable inputs of a function are written to."""
    return {name + "_inplace": Elementwise(name, _lookup(croton_name), min_args, max_args, "_inplace")
            for name, (croton_name, min_args, max_args) in _TABLE.items()}


conjugate = conj  # noqa: F821
power = pow  # noqa: F821
square = sqr  # noqa: F821
floor_div = int_div  # noqa: F821
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = and_, or_, xor, invert  # noqa: F821


def round(a, mode=None):
    """a rounded to whole numbers: halves to even, or with mode="half_away_from_zero" away from zero."""
    return wrap(_croton.round(as_variable(a)._croton, mode=mode or "half_to_even"))


def ceil_intdiv(a, b):
    """The quotient of integers, rounded up."""
    a, b = as_variable(a), as_variable(b)
    quotient = a // b
    return quotient + cast(neq(a % b, 0), quotient.dtype)  # noqa: F821


def iround(a, mode=None):
    """a rounded to whole numbers, as int64."""
    return wrap(_croton.iround(as_variable(a)._croton, mode=mode or "half_to_even"))


where = switch  # noqa: F821
isnan_, isinf_ = isnan, isinf  # noqa: F821


def cast(x, dtype):
    """x converted to a dtype; "floatX" is that of the flag. TypeError from complex to real numbers."""
    x = as_variable(x)
    if str(dtype) == str(x.dtype):
        return x
    if x.dtype.startswith("complex") and not str(dtype).startswith("complex"):
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    return wrap(_croton.cast(x._croton, dtype))


def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether |a - b| <= atol + rtol |b|, elementwise."""
    return wrap(_croton.isclose(as_variable(a)._croton, as_variable(b)._croton, rtol, atol, equal_nan))


def smallest(*args):
    """The smallest of several variables, elementwise."""
    return wrap(_croton.smallest(*[as_variable(x)._croton for x in args]))


def largest(*args):
    """The largest of several variables, elementwise."""
    return wrap(_croton.largest(*[as_variable(x)._croton for x in args]))


__all__ = [*_TABLE, "ComplexError", "Elemwise", "conjugate", "power", "round", "iround", "ceil_intdiv", "isinf_",
           "isnan_", "where", "cast", "isclose", "smallest", "largest"]
