"""The gradient of every row, to the second order, against differences in float64. On the reference evaluator, which
compiles nothing: compiled gradients are the tests' of C++."""

import numpy as np

import croton
import croton.tensor as T

import operations
from samples import generator

H1, H2 = 1e-6, 1e-5
TOLERANCE = 2e-5
FLAGS = {"mode": "reference", "special_values": "ieee"}


def points(row, random):
    """Of the table for positions and the like, of the row's interval for those that are differentiated."""
    arrays = []
    for draw, shape in zip(row.draws, row.shapes[0]):
        shape = tuple(shape)
        if getattr(draw, "fixed", False):
            arrays.append(np.asarray(draw("float64", shape, random)))
        else:
            low, high = row.interval
            arrays.append(np.asarray(random.uniform(low, high, shape)))
    return arrays


def variable(array, shape):
    return T.variable(str(array.dtype), [1 if type(n).__name__ == "One" else None for n in shape])


def largest_difference(f, arrays, which, exact, weights, step):
    """Of the given gradient from central differences of f, at a few elements of each array."""
    worst = 0.0
    random = generator("elements", len(arrays))
    for at, gradient in zip(which, exact):
        flat = arrays[at].reshape(-1)
        for element in random.permutation(flat.size)[:4]:
            keep = flat[element]
            flat[element] = keep + step
            above = f(*arrays, *weights)
            flat[element] = keep - step
            below = f(*arrays, *weights)
            flat[element] = keep
            slope = float(above - below) / (2 * step)
            worst = max(worst, abs(slope - float(gradient.reshape(-1)[element])) / max(1.0, abs(slope)))
    return worst


def check(row):
    """(kind, order): "yes", "zero" or "none", and to which order it was checked; AssertionError where it is wrong."""
    random = generator("gradients", row.name)
    arrays = points(row, random)
    with croton.change_flags(**FLAGS):
        variables = [variable(a, s) for a, s in zip(arrays, row.shapes[0])]
        build = row.build or (lambda f, *a, **k: f(*a, **k))
        outputs = build(operations.find(row.name), *variables, *row.calls[0].args, **row.calls[0].kwargs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = [y for y in outputs if y.dtype == "float64"]
        which = [i for i, v in enumerate(variables) if v.dtype == "float64"]
        if not outputs or not which:
            return "none", 0
        values = croton.function(variables, outputs, on_unused_input="ignore")(*arrays)
        weights = [random.uniform(0.5, 1.5, v.shape) for v in values]
        symbols = [T.variable("float64", [None] * w.ndim) for w in weights]
        cost = sum((T.sum(y * w) for y, w in zip(outputs, symbols)), T.constant(np.float64(0)))
        inputs = variables + symbols
        first = croton.grad(cost, [variables[i] for i in which], disconnected_inputs="ignore")
        function = lambda y: croton.function(inputs, y, on_unused_input="ignore")
        g = function(first)(*arrays, *weights)
        worst = largest_difference(function(cost), arrays, which, g, weights, H1)
        assert worst < TOLERANCE, f"the gradient is off by {worst:.2g}"
        if not any(np.any(v) for v in g):
            return "zero", 1
        more = [random.uniform(0.5, 1.5, v.shape) for v in g]
        along = sum((T.sum(y * T.constant(w)) for y, w in zip(first, more)), T.constant(np.float64(0)))
        try:
            second = croton.grad(along, [variables[i] for i in which], disconnected_inputs="ignore")
        except croton.NotImplementedError:
            return "yes", 1
        h = function(second)(*arrays, *weights)
        worst = largest_difference(function(along), arrays, which, h, weights, H2)
        assert worst < 100 * TOLERANCE, f"the second derivative is off by {worst:.2g}"
        return "yes", 2


def check_all(rows):
    """{name: (order, kind)} of the first row of each operation, and what is wrong."""
    found, wrong = {}, []
    for row in {r.name: r for r in reversed(rows) if r.shapes and "float64" in r.dtypes and r.differentiable}.values():
        try:
            kind, order = check(row)
            found[row.name] = (order, kind)
        except (AssertionError, croton.Error, ValueError, TypeError) as error:
            wrong.append(f"the gradient of {row.name}: {type(error).__name__}: {error}")
    return found, wrong
