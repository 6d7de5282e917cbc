"""Elementwise functions, by Theano's names. Each takes variables, numbers, arrays and lists; they broadcast."""

import functools

from croton import _croton

from ..variables import as_variable, wrap

# Theano's name -> Croton's, with one argument.
_UNARY = {
    name: name for name in """exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan tanh sinh cosh arcsin arccos arctan
    arcsinh arccosh arctanh deg2rad rad2deg sqr floor ceil trunc isnan isinf erf erfc erfcx erfinv erfcinv gamma gammaln
    psi tri_gamma i0 i1 j0 j1 real imag conj angle""".split()
} | {"abs_": "abs", "sgn": "sgn", "inv": "reciprocal", "neg": "negative", "invert": "bitwise_not", "square": "sqr",
     "bitwise_not": "bitwise_not", "sigmoid": "sigmoid", "softplus": "softplus", "cosh": "cosh", "xlogx": "xlogx", "round_half_to_even": "rint",
     "round_half_away_from_zero": "round_half_away_from_zero"}

_BINARY = {
    "sub": "subtract", "true_div": "true_divide", "int_div": "int_div", "mod": "remainder", "pow": "pow", "lt": "less",
    "gt": "greater", "le": "less_equal", "ge": "greater_equal", "eq": "eq", "neq": "neq", "arctan2": "arctan2", "chi2sf":
    "chi2sf", "gammainc": "gammainc", "gammaincc": "gammaincc", "gammau": "gammau", "gammal": "gammal", "jv": "jv", "iv":
    "iv", "fill": "fill", "xlogy0": "xlogy0", "complex": "complex", "complex_from_polar": "complex_from_polar",
    "floor_div": "int_div",
}

_INFINITE_ARITY = {"add": "add", "mul": "multiply", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
                   "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
                   "maximum": "maximum", "minimum": "minimum"}


def _croton_add(a, b):
    return a + b


def _of_floats(function):
    """floor, ceil and trunc of integers give floats in Theano."""
    def apply(x):
        return function(x if x.dtype.startswith(("float", "complex")) else _croton.cast(x, _croton.exp(x).dtype))

    apply.__doc__ = function.__doc__
    return apply


def _lookup(name):
    if name in ("floor", "ceil", "trunc"):
        return _of_floats(getattr(_croton, name))
    return _croton_add if name == "add" else getattr(_croton, name)


class Elementwise:
    """A function of each element, such as theano.tensor.exp. Arguments are variables, numbers, arrays or lists; they
    broadcast."""

    def __init__(self, name, function, least, most, suffix=""):
        self.__name__ = self.name = name + suffix
        self.__doc__ = function.__doc__
        self._function, self._least, self._most, self._inplace = function, least, most, bool(suffix)

    def __call__(self, *inputs, **kwargs):
        name = kwargs.pop("name", None)
        if kwargs:
            raise TypeError(f"{self.name}() got unexpected keyword arguments {sorted(kwargs)}")
        if not self._least <= len(inputs) <= self._most:
            raise TypeError(f"{self.name}() takes {self._least} arguments, not {len(inputs)}")
        result = wrap(functools.reduce(self._function, [as_variable(x)._croton for x in inputs])
                      if self._most > 1 else self._function(as_variable(inputs[0])._croton))
        if name is not None:
            result.name = name
        if self._inplace:
            result = cast(result, as_variable(inputs[0]).dtype)
            result._written_to = inputs[0]  # theano.function looks at it
        return result

    def make_node(self, *inputs):
        """The application to inputs."""
        return self(*inputs).owner

    def __str__(self):
        return self.name if self._inplace else f"Elemwise{{{self.name},no_inplace}}"

    __repr__ = __str__

    def __reduce__(self):
        return _by_name, (self.name,)


def _by_name(name):
    return globals().get(name) or inplace_functions()[name]


_ANY = 1 << 16
_TABLE = {**{name: (croton_name, 1, 1) for name, croton_name in _UNARY.items()},
          **{name: (croton_name, 2, 2) for name, croton_name in _BINARY.items()},
          **{name: (croton_name, 1, _ANY) for name, croton_name in _INFINITE_ARITY.items()}}
globals().update({name: Elementwise(name, _lookup(croton_name), least, most)
                  for name, (croton_name, least, most) in _TABLE.items()})


def inplace_functions():
    """theano.tensor.inplace: the same functions by names that end in _inplace. Where a
    result is written is Croton's business; only arrays that a function was given to be written to are."""
    return {name + "_inplace": Elementwise(name, _lookup(croton_name), least, most, "_inplace")
            for name, (croton_name, least, most) in _TABLE.items()}


conjugate = conj  # noqa: F821
power = pow  # noqa: F821
square = sqr  # noqa: F821
floor_div = int_div  # noqa: F821
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = and_, or_, xor, invert  # noqa: F821


def round(a, mode=None):
    """The nearest whole number: halves to even, or with mode="half_away_from_zero" away from zero."""
    return wrap(_croton.round(as_variable(a)._croton, mode=mode or "half_to_even"))


def ceil_intdiv(a, b):
    """The quotient of integers rounded up."""
    a, b = as_variable(a), as_variable(b)
    quotient = a // b
    return quotient + cast(neq(a % b, 0), quotient.dtype)  # noqa: F821


def iround(a, mode=None):
    """round, as int64."""
    return wrap(_croton.iround(as_variable(a)._croton, mode=mode or "half_to_even"))


def switch(cond, ift, iff):
    """ift where cond is not 0, else iff; both are computed."""
    return wrap(_croton.where(as_variable(cond)._croton, as_variable(ift)._croton, as_variable(iff)._croton))


where = switch


def clip(x, min, max):
    """x, at least min and at most max; its gradient is 1 between and at both bounds."""
    return wrap(_croton.clip(as_variable(x)._croton, as_variable(min)._croton, as_variable(max)._croton))


def cast(x, dtype):
    """x in another dtype; "floatX" is that of the flag. TypeError from complex to real numbers."""
    x = as_variable(x)
    if str(dtype) == str(x.dtype):
        return x
    if x.dtype.startswith("complex") and not str(dtype).startswith("complex"):
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    return wrap(_croton.cast(x._croton, dtype))


def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """|a - b| <= atol + rtol |b|, element by element."""
    return wrap(_croton.isclose(as_variable(a)._croton, as_variable(b)._croton, rtol, atol, equal_nan))


def smallest(*args):
    """The smallest of several variables, element by element."""
    return wrap(_croton.smallest(*[as_variable(x)._croton for x in args]))


def largest(*args):
    """The largest of several variables, element by element."""
    return wrap(_croton.largest(*[as_variable(x)._croton for x in args]))


__all__ = [*_UNARY, *_BINARY, *_INFINITE_ARITY, "conjugate", "power", "round", "iround", "ceil_intdiv", "switch", "where", "clip", "cast", "isclose", "smallest", "largest"]
