"""Comparison of gradients with finite differences."""

import numpy

from .. import compiling, gradients
from ..sharing import shared
from ..wrapping import as_variable

_TOLERANCES = {"float16": 5e-2, "float32": 1e-2, "float64": 1e-4}


class GradientError(Exception):
    """A gradient that differs from finite differences."""

    def __init__(self, arg, err_pos, shape, val1, val2, abs_err, rel_err, abs_tol, rel_tol):
        super().__init__()
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2, self.abs_err, self.rel_err = val1, val2, abs_err, rel_err
        self.abs_tol, self.rel_tol = abs_tol, rel_tol

    def __str__(self):
        return (f"GradientError: numeric gradient and analytic gradient exceed tolerance: at position {self.err_pos} "
                f"of argument {self.arg} with shape {self.shape}, val1 = {self.val1}, val2 = {self.val2}, abs. error = "
                f"{self.abs_err}, abs. tolerance = {self.abs_tol}, rel. error = {self.rel_err}, rel. tolerance = "
                f"{self.rel_tol}")


def verify_grad(fun, pt, n_tests=2, rng=None, eps=None, out_type=None, abs_tol=None, rel_tol=None, mode=None,
                cast_to_output_type=False, no_debug_ref=True):
    """Compares the gradients of fun at the points pt with finite differences, for random projections of its output.

    GradientError if they differ by more than abs_tol and rel_tol (float64: 1e-4, float32: 1e-2). TypeError for points
    that are not floats; NotImplementedError for a fun with several outputs.
    """
    if rng is None:
        raise TypeError("rng should be a valid instance of numpy.random.RandomState. You may want to use "
                        "theano.tests.unittest_tools.verify_grad instead of theano.gradient.verify_grad.")
    points = [numpy.array(p) for p in pt]
    for i, p in enumerate(points):
        if p.dtype.kind != "f":
            raise TypeError(f"verify_grad can work only with floating point inputs, but input {i} has dtype "
                            f'"{p.dtype}".')
    narrowest = max(_TOLERANCES[str(p.dtype)] for p in points)
    abs_tol = narrowest if abs_tol is None else abs_tol
    rel_tol = narrowest if rel_tol is None else rel_tol
    inputs = [as_variable(p).type(f"input {i}") for i, p in enumerate(points)]  # axes of size 1 broadcast
    output = fun(*inputs)
    if isinstance(output, (list, tuple)):
        raise NotImplementedError("cant (yet) autotest gradient of fun with multiple outputs")
    compute = compiling.function(inputs, output, on_unused_input="ignore", allow_input_downcast=True, mode=mode)
    value = compute(*[p.copy() for p in points])
    # In double precision, so that the projection adds no rounding errors, or in the dtype of the output.
    dtype = output.dtype if cast_to_output_type else "float64"
    projection = numpy.asarray(rng.uniform(size=value.shape) + 0.5, dtype=dtype)
    weights = shared(projection, broadcastable=output.broadcastable)
    cost = (weights * output).sum()
    scalar = compiling.function(inputs, cost, on_unused_input="ignore", allow_input_downcast=True, mode=mode)
    grads = gradients.grad(cost, inputs, disconnected_inputs="ignore")
    analytic = compiling.function(inputs, grads, on_unused_input="ignore", allow_input_downcast=True, mode=mode)
    for test in range(n_tests):
        weights.set_value(numpy.asarray(rng.uniform(size=value.shape) + 0.5, dtype=dtype))
        _compare(scalar, [numpy.asarray(g) for g in analytic(*[p.copy() for p in points])], points, eps, abs_tol,
                 rel_tol)


_EPS = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}


class numeric_grad:
    """The gradient of f, a function from arrays to a number, at the point pt, an array or a list of arrays, by forward
    differences with step eps. `gf`: the gradient, in the form of pt."""

    type_eps = _EPS

    def __init__(self, f, pt, eps=None, out_type=None):
        several = isinstance(pt, (list, tuple))
        points = [numpy.array(p) for p in (pt if several else [pt])]
        step = eps or max(_EPS[str(p.dtype)] for p in points)
        value = float(f(*points))
        slopes = []
        for i, p in enumerate(points):
            slope = numpy.zeros(p.shape, p.dtype)
            for index in numpy.ndindex(p.shape):
                moved = [q.copy() for q in points]
                moved[i][index] += step
                slope[index] = (float(f(*moved)) - value) / step
            slopes.append(slope)
        self.gf = slopes if several else slopes[0]

    @staticmethod
    def abs_rel_err(a, b):
        """The absolute error |a - b|, and the error relative to |a| + |b|."""
        absolute = abs(a - b)
        return absolute, absolute / numpy.maximum(abs(a) + abs(b), 1e-8)

    def abs_rel_errors(self, g_pt):
        """The absolute and relative errors of each gradient of a list."""
        return [self.abs_rel_err(a, b) for a, b in zip(self._list(self.gf), self._list(g_pt), strict=True)]

    def max_err(self, g_pt, abs_tol, rel_tol):
        """(argument, position, absolute error, relative error) of the largest error; of both tolerances the one that it
        meets better counts."""
        worst = None
        for i, (absolute, relative) in enumerate(self.abs_rel_errors(g_pt)):
            off = numpy.minimum(absolute / abs_tol, relative / rel_tol)
            if off.size == 0:
                continue
            at = numpy.unravel_index(numpy.argmax(off), off.shape) if off.shape else ()
            if not numpy.isfinite(off[at]) or worst is None or off[at] > worst[0]:
                worst = (off[at], i, at, absolute[at], relative[at])
        return worst[1:] if worst is not None else (0, (), 0.0, 0.0)

    @staticmethod
    def _list(x):
        return x if isinstance(x, (list, tuple)) else [x]


def _compare(scalar, analytic, points, eps, abs_tol, rel_tol):
    numeric = numeric_grad(scalar, points, eps)
    i, at, absolute, relative = numeric.max_err(analytic, abs_tol, rel_tol)
    if not (absolute <= abs_tol or relative <= rel_tol):
        raise GradientError(i, at, points[i].shape, numeric.gf[i][at], analytic[i][at], absolute, relative, abs_tol,
                            rel_tol)


verify_grad.E_grad = GradientError
