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
     "bitwise_not": "bitwise_not", "sigmoid": "sigmoid", "softplus": "softplus", "cosh": "cosh", "xlogx": "xlogx"}

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


def _lookup(name):
    return _croton_add if name == "add" else getattr(_croton, name)


def _unary(name, croton_name):
    function = _lookup(croton_name)

    def apply(x):
        return wrap(function(as_variable(x)._croton))

    return _named(apply, name, function)


def _binary(name, croton_name):
    function = _lookup(croton_name)

    def apply(a, b):
        return wrap(function(as_variable(a)._croton, as_variable(b)._croton))

    return _named(apply, name, function)


def _many(name, croton_name):
    function = _lookup(croton_name)

    def apply(first, *others):
        arguments = [as_variable(x)._croton for x in (first, *others)]
        return wrap(functools.reduce(function, arguments))

    return _named(apply, name, function)


def _named(apply, name, function):
    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.__doc__
    return apply


globals().update({name: _unary(name, croton_name) for name, croton_name in _UNARY.items()})
globals().update({name: _binary(name, croton_name) for name, croton_name in _BINARY.items()})
globals().update({name: _many(name, croton_name) for name, croton_name in _INFINITE_ARITY.items()})

conjugate = conj  # noqa: F821
power = pow  # noqa: F821


def round(a, mode=None):
    """The nearest whole number: halves to even, or with mode="half_away_from_zero" away from zero."""
    return wrap(_croton.round(as_variable(a)._croton, mode=mode or "half_to_even"))


def round_half_to_even(a):
    """The nearest whole number; halves go to even."""
    return round(a)


def round_half_away_from_zero(a):
    """The nearest whole number; halves go away from zero."""
    return round(a, "half_away_from_zero")


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


__all__ = [*_UNARY, *_BINARY, *_INFINITE_ARITY, "conjugate", "power", "round", "round_half_to_even",
           "round_half_away_from_zero", "iround", "switch", "where", "clip", "cast", "isclose", "smallest", "largest"]
