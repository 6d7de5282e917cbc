"""Activation functions."""

from croton import _croton

from ...wrapping import as_variable, wrap
from ..constants import constant
from ..elementwise import clip, expm1, sigmoid, softplus, switch

_nnet = _croton.nnet


def relu(x, alpha=0):
    """0.5 (x + |x|), whose gradient at 0 is 0.5. alpha: the slope below 0, which may be symbolic."""
    x = as_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return 0.5 * (x + abs(x))
    alpha = as_variable(alpha)
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)


def elu(x, alpha=1):
    """x where x > 0, else alpha (exp(x) - 1)."""
    x = as_variable(x)
    return switch(x > 0, x, alpha * expm1(x))


def selu(x):
    """The scaled elu of self-normalising networks."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def softsign(x):
    """x / (1 + |x|)."""
    return wrap(_nnet.softsign(as_variable(x)._croton))


def hard_sigmoid(x):
    """clip(0.2 x + 0.5, 0, 1)."""
    x = as_variable(x)
    dtype = x.dtype if x.dtype.startswith("float") else (x * constant(0.2)).dtype
    slope, shift = constant(0.2, dtype=dtype), constant(0.5, dtype=dtype)
    return clip(x * slope + shift, 0, 1)


def ultra_fast_sigmoid(x):
    """A piecewise approximation of the sigmoid."""
    return wrap(_nnet.ultra_fast_sigmoid(as_variable(x)._croton))


__all__ = ["relu", "elu", "selu", "softsign", "hard_sigmoid", "ultra_fast_sigmoid", "sigmoid", "softplus"]
