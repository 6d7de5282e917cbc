"""The gradient of every row by each of its float and complex operands, to the second order, against differences in
float64 and complex128. Uses the reference evaluator, which compiles nothing: the C++ tests cover compiled gradients."""

import re

import numpy as np

import croton
import croton.tensor as T

import operations
from dtypes import inputs_of
from known_faults import known
from samples import generator

H1, H2 = 1e-6, 1e-5
TOLERANCE = 2e-5
FLAGS = {"mode": "reference", "special_values": "ieee"}
DIFFERENTIATED = ["float64", "complex128"]


def points(row, dtype, random):
    """Arrays at which the gradient is checked: from the table for positions and the like, from the row's interval for
    differentiated operands."""
    arrays = []
    for draw, shape in zip(row.draws, row.shapes[0]):
        shape = tuple(shape)
        if getattr(draw, "fixed", False):
            arrays.append(np.array(draw(dtype, shape, random)))
        else:
            x = random.uniform(*row.interval, shape)
            if dtype == "complex128":
                x = x + 1j * random.uniform(*row.interval, shape)
            arrays.append(np.array(x))
    return arrays


def operand_names(row):
    """The names of the operands on the page: those of the function, if the row is a plain call."""
    doc = (operations.find(row.name).__doc__ or "").split("\n")[0]
    named = re.findall(r"[(,] ?(\w+)(?=[:,)=])", doc) if row.build is None else []
    roles = [getattr(draw, "role", "") for draw in row.draws]
    return [named[i] if i < len(named) else role or f"operand_{i + 1}" for i, role in enumerate(roles)]


def parts_of(y):
    return [T.real(y), T.imag(y)] if y.dtype == "complex128" else [y]


def real_parts(value):
    return [np.real(value), np.imag(value)] if np.iscomplexobj(value) else [value]


def largest_difference(f, arrays, which, exact, weights, step):
    """The largest difference of the given gradient from central differences of f, at a few elements of each array; for
    z = x + iy it is df/dx + i df/dy (docs/use/complex.md)."""
    worst = 0.0
    random = generator("elements", len(arrays))
    for at, gradient in zip(which, exact):
        flat = arrays[at].reshape(-1)
        for element in random.permutation(flat.size)[:4]:
            slope, keep = 0.0, flat[element]
            for direction in (1, 1j) if flat.dtype.kind == "c" else (1, ):
                flat[element] = keep + direction * step
                above = f(*arrays, *weights)
                flat[element] = keep - direction * step
                below = f(*arrays, *weights)
                flat[element] = keep
                slope = slope + direction * float(above - below) / (2 * step)
            worst = max(worst, abs(slope - gradient.reshape(-1)[element]) / max(1.0, abs(slope)))
    return worst


def defined(cost, variable):
    """Whether there is a gradient; false if the library says that there is none."""
    try:
        croton.grad(cost, variable, disconnected_inputs="ignore")
        return True
    except croton.NullTypeGradError:
        return False


def check(row, dtype):
    """{operand: (kind, order)}, where the kind is "yes", "zero", "undefined" or "none" and `order` is the order to
    which it was checked; AssertionError if it is wrong."""
    random = generator("gradients", row.name)
    arrays = points(row, dtype, random)
    names = operand_names(row)
    with croton.change_flags(**FLAGS):
        variables = inputs_of([str(a.dtype) for a in arrays], row.shapes[0])[0]
        build = row.build or (lambda f, *a, **k: f(*a, **k))
        outputs = build(operations.find(row.name), *variables, *row.calls[0].args, **row.calls[0].kwargs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = [part for y in outputs if y.dtype in DIFFERENTIATED for part in parts_of(y)]
        floats = [i for i, v in enumerate(variables) if v.dtype in DIFFERENTIATED]
        if not outputs or not floats:
            return {names[i]: ("none", 0) for i in floats}
        values = croton.function(variables, outputs, on_unused_input="ignore")(*arrays)
        weights = [random.uniform(0.5, 1.5, v.shape) for v in values]
        symbols = [T.variable("float64", [None] * w.ndim) for w in weights]
        cost = sum((T.sum(y * w) for y, w in zip(outputs, symbols)), T.constant(np.float64(0)))
        which = [i for i in floats if defined(cost, variables[i])]
        found = {names[i]: ("undefined", 0) for i in floats}
        if not which:
            return found
        wrt = [variables[i] for i in which]
        inputs = variables + symbols
        first = croton.grad(cost, wrt, disconnected_inputs="ignore")
        function = lambda y: croton.function(inputs, y, on_unused_input="ignore")
        g = function(first)(*arrays, *weights)
        worst = largest_difference(function(cost), arrays, which, g, weights, H1)
        assert worst < TOLERANCE, f"the gradient is off by {worst:.2g}"
        found |= {names[i]: ("yes", 1) if np.any(v) else ("zero", 1) for i, v in zip(which, g)}
        if not any(np.any(v) for v in g):
            return found
        along = T.constant(np.float64(0))
        for y, value in zip(first, g):
            for part, size in zip(parts_of(y), real_parts(value)):
                along = along + T.sum(part * T.constant(random.uniform(0.5, 1.5, size.shape)))
        try:
            second = croton.grad(along, wrt, disconnected_inputs="ignore")
        except (croton.NotImplementedError, croton.NullTypeGradError):
            return found
        h = function(second)(*arrays, *weights)
        worst = largest_difference(function(along), arrays, which, h, weights, H2)
        assert worst < 100 * TOLERANCE, f"the second derivative is off by {worst:.2g}"
        return {name: (kind, 2 if kind == "yes" else order) for name, (kind, order) in found.items()}


def floats_of(row, roles):
    """The dtypes for which the row is differentiated: those that its operands accept; float64 if they do not vary."""
    fixed = any(getattr(draw, "dtype", "") == "float64" for draw in row.draws)
    return [d for d in DIFFERENTIATED if d in roles.get("", [])] or ["float64"] * fixed


def better(a, b):
    """The better of two findings about one operand in two rows."""
    order = ["none", "undefined", "zero", "yes"]
    return max(a, b, key=lambda found: (order.index(found[0]), found[1]))


def check_all(rows, taken):
    """{name: {"operand:dtype": (kind, order)}}, and a list of errors."""
    found, wrong = {}, []
    for row, roles in zip(rows, taken):
        mine = found.setdefault(row.name, {})
        if row.other_gradient:
            mine["-"] = ("other", 0)
            continue
        for dtype in floats_of(row, roles):
            try:
                for operand, result in check(row, dtype).items():
                    key = f"{operand}:{dtype}"
                    mine[key] = better(mine[key], result) if key in mine else result
            except (AssertionError, croton.Error, ValueError, TypeError) as error:
                problem = f"{type(error).__name__}: {error}"
                if known(row.name, dtype, problem):
                    mine[f"-:{dtype}"] = ("fault", 0)
                else:
                    wrong.append(f"the gradient of {row.name} ({dtype}): {problem}")
    return found, wrong
