"""Gradient tools, with functions whose derivatives have a formula: sin(x) elementwise and sum(x^3)."""

import numpy as np
import scipy.special as sp

import croton.tensor as T

from samples import between, plain, unit, whole
from table import FILLED, MATRIX, VECTOR, call, floats, floatx, row, twice

CLOSE = dict(dtypes=["float64", "float32"], result=floatx, ulp=8, why="sines and products of 4 ULP")
OTHER = "on purpose another: the rows of derivatives have it"
VALUE = dict(dtypes=["float64", "float32", "float16"], other_gradient=OTHER)
for name in "disconnected_grad zero_grad consider_constant undefined_grad".split():
    row(name, lambda x: x, shapes=MATRIX, **VALUE)
STEPS = {"uint64": "integers move in steps: operations on integers have the gradient 0"}
row("grad_clip", lambda x, *a: x, shapes=MATRIX, calls=[call(-1, 1)], **VALUE)
row("grad_clip", lambda x: np.clip(3 * x * x, -1, 1), plain, shapes=MATRIX,
    build=lambda f, x: T.grad(T.sum(f(x, -1, 1)**3), x), other_gradient=OTHER, left_out=STEPS, **CLOSE)
row("grad_scale", lambda x, m: x, shapes=MATRIX, calls=[call(2.0)], **VALUE)
row("grad_scale", lambda x: 6 * x * x, plain, shapes=MATRIX, build=lambda f, x: T.grad(T.sum(f(x, 2.0)**3), x),
    other_gradient=OTHER, left_out=STEPS, **CLOSE)
row("grad", lambda x: 3 * x * x, plain, shapes=MATRIX, build=lambda f, x: f(T.sum(x ** 3), x), **CLOSE)
ZEROS = {"float32": "off the diagonal it is nan for nan, because 0 * nan is nan"}
row("jacobian", lambda x: np.diag(np.cos(x)), plain, shapes=VECTOR, build=lambda f, x: f(T.sin(x), x), special=ZEROS,
    **CLOSE)
row("hessian", lambda x: np.diag(6 * x), plain, shapes=VECTOR, build=lambda f, x: f(T.sum(x ** 3), x), special=ZEROS,
    **CLOSE)
SEVERAL = dict(dtypes=["float64", "float32"], result=floatx, ulp=64, absolute=100, coarse=8,
               why="products and sums of a few functions, in 16 bits rounded in between")


def of_softmax(x):
    s = sp.softmax(x, -1)
    return 2 * s * (s - (s * s).sum(-1, keepdims=True))


def of_running_product(x):
    """For each element the sum of all products that contain it, without itself."""
    out = np.zeros_like(x)
    for i in range(x.shape[1]):
        others = np.concatenate([x[:, :i], np.ones_like(x[:, :1]), x[:, i + 1:]], 1)
        out[:, i] = np.cumprod(others, 1)[:, i:].sum(1)
    return out


# Ops that only gradients contain.
row("grad", of_softmax, plain, shapes=FILLED, build=lambda f, x: f(T.sum(T.nnet.softmax(x)**2), x), **SEVERAL)
row("grad", lambda z, y: sp.softmax(z, -1) - (y[:, None] == np.arange(z.shape[1])), plain, whole(0, 2),
    shapes=(((5, 3), (5, )), ((1, 3), (1, ))), **SEVERAL,
    build=lambda f, z, y: f(T.sum(T.nnet.softmax_crossentropy(z, y)), z))
row("grad", lambda p, y: np.where(y[:, None] == np.arange(p.shape[1]), -1 / p, 0), unit, whole(0, 2),
    shapes=(((5, 3), (5, )), ((1, 3), (1, ))), **SEVERAL,
    build=lambda f, p, y: f(T.sum(T.nnet.categorical_crossentropy(p, y)), p))
row("grad", lambda x: np.concatenate([np.zeros_like(x[:1]), 2 * x[1:]]), plain, shapes=FILLED, left_out=STEPS, **SEVERAL,
    build=lambda f, x: f(T.sum(x[1:]**2), x))
row("grad", of_running_product, between(0.5, 1.5, (1, 3)), shapes=FILLED, **SEVERAL,
    build=lambda f, x: f(T.sum(T.cumprod(x, axis=1)), x))
DIRECTIONS = {"int32": "an integer direction becomes floatX first"}
for name in "Lop Rop".split():
    row(name, lambda x, v, name=name: (np.conj(np.cos(x)) if name == "Lop" else np.cos(x)) * v, plain, plain,
        shapes=twice(MATRIX), build=lambda f, x, v: f(T.sin(x), x, v),
        left_out=DIRECTIONS if name == "Rop" else {}, special=DIRECTIONS if name == "Rop" else {},
        **(CLOSE | dict(result=floats if name == "Rop" else floatx)))
row("hessian_times_vector", lambda x, v: 6 * x * v, plain, plain, shapes=twice(MATRIX),
    build=lambda f, x, v: f(T.sum(x**3), x, v), **CLOSE)
row("vectorize", lambda x: x.sum(1), plain, shapes=(((4, 3), ), ((1, 2), )), dtypes=["float64", "float32"], ulp=16,
    absolute=8, why="a sum", build=lambda f, x: (lambda v: f(T.sum(v), {v: x}))(T.vector(dtype=x.dtype)))


def through_part(f, x):
    """The gradient of sum(sin(x)^2) in two parts, at y = sin(x)."""
    y = T.sin(x)
    wrt, end = f([], [y], cost=T.sum(y ** 2))
    return T.Lop(y, x, end[0])


row("subgraph_grad", lambda x: 2 * np.sin(x) * np.cos(x), plain, shapes=MATRIX, build=through_part, **CLOSE)
