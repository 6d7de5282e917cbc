"""The elementwise functions that NumPy and Theano have, by the same names: against NumPy, and against identities if
NumPy has none."""

import math

import numpy as np
import pytest

import croton
import croton.tensor as T

X = np.array([[0.5, -1.5, 2.0], [3.0, -0.25, 1.0]])
Y = np.array([[2.0, -1.0, 0.5], [1.0, 4.0, -3.0]])
INSIDE = X / 4
I = np.array([6, -7, 0, 12], np.int32)
J = np.array([3, 2, 5, 18], np.int32)


def evaluated(function, *arrays):
    inputs = [(T.matrix if a.ndim == 2 else T.vector)(dtype=str(a.dtype)) for a in arrays]
    return function(*inputs).eval(dict(zip(inputs, arrays)))


ONE = ["arctan", "arcsinh", "deg2rad", "rad2deg", "radians", "degrees", "sinc", "cbrt", "rint", "fix", "isfinite",
       "isposinf", "isneginf", "signbit", "logical_not", "negative", "positive", "absolute", "sign", "square"]
TWO = ["arctan2", "hypot", "logaddexp", "logaddexp2", "fmod", "copysign", "nextafter", "fmax", "fmin", "heaviside",
       "logical_and", "logical_or", "logical_xor", "subtract", "multiply", "true_divide", "remainder", "less",
       "less_equal", "greater", "greater_equal", "equal", "not_equal"]
WHOLE = ["left_shift", "right_shift", "gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "fmod"]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_variable(name):
    result, expected = evaluated(getattr(T, name), X), getattr(np, name)(X)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_functions_of_small_numbers(name):
    np.testing.assert_allclose(evaluated(getattr(T, name), INSIDE), getattr(np, name)(INSIDE), rtol=1e-14)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_variables(name):
    result, expected = evaluated(getattr(T, name), X, Y), getattr(np, name)(X, Y)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.parametrize("name", WHOLE)
def test_functions_of_integers(name):
    result, expected = evaluated(getattr(T, name), I, J), getattr(np, name)(I, J)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_special_functions():
    x = np.array([0.5, 1.5, 4.25])
    values = {"gamma": math.gamma, "gammaln": math.lgamma, "exp10": lambda v: 10.0 ** v,
              "xlogx": lambda v: v * math.log(v),
              "erfcx": lambda v: math.exp(v * v) * math.erfc(v), "log1mexp": lambda v: math.nan}
    for name, function in values.items():
        np.testing.assert_allclose(evaluated(getattr(T, name), x), [function(v) for v in x], rtol=1e-13)
    np.testing.assert_allclose(evaluated(lambda v: T.erf(T.erfinv(v / 5)), x), x / 5, rtol=1e-14)
    np.testing.assert_allclose(evaluated(lambda v: T.erfc(T.erfcinv(v / 5)), x), x / 5, rtol=1e-14)
    np.testing.assert_allclose(evaluated(lambda v: T.psi(v + 1) - T.digamma(v), x), 1 / x, rtol=1e-13)
    np.testing.assert_allclose(evaluated(lambda v: T.tri_gamma(v) - T.polygamma(1, v), x), 0, atol=1e-14)
    np.testing.assert_allclose(evaluated(T.i0, x), np.i0(x), rtol=1e-13)
    # The simplest check of a solution of x^2 y'' + x y' + x^2 y = 0 is its derivative: j0' = -j1.
    h = 1e-6
    slope = (evaluated(T.j0, x + h) - evaluated(T.j0, x - h)) / (2 * h)
    np.testing.assert_allclose(slope, -evaluated(T.j1, x), rtol=1e-8)
    slope = (evaluated(T.i0, x + h) - evaluated(T.i0, x - h)) / (2 * h)
    np.testing.assert_allclose(slope, evaluated(T.i1, x), rtol=1e-8)


def test_functions_of_an_order():
    x = np.array([0.5, 1.5, 4.25])
    for ours, closed in [(lambda v: T.gammainc(1, v), -np.expm1(-x)), (lambda v: T.gammaincc(1, v), np.exp(-x)),
                         (lambda v: T.gammal(2, v), 1 - (1 + x) * np.exp(-x)), (lambda v: T.iv(0, v), np.i0(x)),
                         (lambda v: T.gammau(2, v), (1 + x) * np.exp(-x)), (lambda v: T.chi2sf(v, 2), np.exp(-x / 2)),
                         (lambda v: T.jv(0.5, v), np.sqrt(2 / (np.pi * x)) * np.sin(x))]:
        np.testing.assert_allclose(evaluated(ours, x), closed, rtol=1e-13)
    a, v = T.dvector("a"), T.dvector("v")
    slope = croton.grad(T.sum(T.gammainc(a, v)), v)
    np.testing.assert_allclose(croton.function([a, v], slope)(np.array([1.0, 1.0, 2.0]), x),
                               np.exp(-x) * np.array([1, 1, x[2]]), rtol=1e-13)
    with pytest.raises(croton.NullTypeGradError, match="gammainc has no gradient by its order"):
        croton.grad(T.sum(T.gammainc(a, v)), a)


def test_rounding():
    x = np.array([0.5, -2.5, 1.26, 149.0])
    np.testing.assert_array_equal(evaluated(T.round, x), np.round(x))
    np.testing.assert_array_equal(evaluated(lambda v: T.round(v, np.int8(1)), x), np.round(x, 1))
    np.testing.assert_array_equal(evaluated(lambda v: T.round(v, 1), x), np.round(x, 1))
    np.testing.assert_array_equal(evaluated(lambda v: T.round(v, -1), x), np.round(x, -1))
    np.testing.assert_array_equal(evaluated(lambda v: T.round(v, "half_away_from_zero"), x), [1, -3, 1, 149])
    np.testing.assert_array_equal(evaluated(lambda v: v.round(mode="half_away_from_zero"), x), [1, -3, 1, 149])
    result = evaluated(T.iround, x)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, [0, -2, 1, 149])
    with pytest.raises(ValueError, match="half_to_even or half_away_from_zero, not 'up'"):
        T.round(T.dvector(), "up")


def test_pairs_and_closeness():
    for ours, numpy in [(T.divmod, np.divmod), (lambda a, b: T.frexp(a * 1.5), lambda a, b: np.frexp(a * 1.5)),
                        (lambda a, b: T.modf(a / 4), lambda a, b: np.modf(a / 4))]:
        for k in (0, 1):
            np.testing.assert_allclose(evaluated(lambda a, b: ours(a, b)[k], X, Y), numpy(X, Y)[k], rtol=1e-15)
    a, b = np.array([1.0, np.inf, np.nan, 1e-9]), np.array([1.000001, np.inf, np.nan, 0.0])
    for options in ({}, {"equal_nan": True}, {"rtol": 0.0, "atol": 0.0}):
        close = evaluated(lambda p, q: T.isclose(p, q, **options), a, b)
        np.testing.assert_array_equal(close, np.isclose(a, b, **options))
        assert evaluated(lambda p, q: T.allclose(p, q, **options), a, b) == np.allclose(a, b, **options)
    np.testing.assert_array_equal(evaluated(T.nan_to_num, a), np.nan_to_num(a))
    replaced = evaluated(lambda v: T.nan_to_num(v, nan=1, posinf=2), a)
    np.testing.assert_array_equal(replaced, np.nan_to_num(a, nan=1, posinf=2))
    np.testing.assert_array_equal(evaluated(lambda v: T.ldexp(v, 3), a), np.ldexp(a, 3))
    powers = np.array([2, -1, 0, 1], np.int32)
    np.testing.assert_allclose(evaluated(T.float_power, I, powers), np.float_power(I, powers), rtol=1e-15)
    np.testing.assert_array_equal(evaluated(lambda p: T.fill(p, 7), X), np.full(X.shape, 7))
    np.testing.assert_array_equal(evaluated(T.bitwise_count, np.array([7, -7, 0], np.int32)), [3, 3, 0])
