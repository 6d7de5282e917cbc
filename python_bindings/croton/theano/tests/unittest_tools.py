"""theano.tests.unittest_tools: seeds, comparisons and base classes for tests of programs that use theano.

Assertions about graphs after compilation (such as assertFunctionContains) inspect Croton's own graph: they fail for op
classes that Croton does not have.
"""

import copy as copying
import functools
import re
import sys
import unittest
from unittest import SkipTest

import numpy

from .. import compiling, modes, tensor
from ..configuration import config
from ..tensor import testing

try:
    from parameterized import parameterized
except ImportError:  # a package that only some tests need
    parameterized = None

__all__ = ["AttemptManyTimes", "InferShapeTester", "MockRandomState", "SkipTest", "T_OpContractMixin",
           "TestOptimizationMixin", "WrongValue", "assertFailure_fast", "assert_allclose", "attr", "custom_name_func",
           "different_random_values", "fetch_seed", "parameterized", "seed_rng", "str_diagnostic", "verify_grad"]


def attr(*names, **values):
    """Marks a test, for test runners that select by marks."""
    def decorate(item):
        for name in names:
            setattr(item, name, True)
        for name, value in values.items():
            setattr(item, name, value)
        return item
    return decorate


def custom_name_func(function, number, param):
    """The name of one case of a parameterized test: that of the function and its arguments."""
    return function.__name__ + "_" + re.sub("[^a-zA-Z0-9_]+", "_", "_".join(map(str, param.args)))


def fetch_seed(pseed=None):
    """pseed, or else the flag unittests.rseed; None, for which NumPy picks a seed, if it is "random" or not a
    number."""
    seed = pseed or config.unittests.rseed
    if seed in ("random", None, 0):
        return None
    try:
        return int(seed)
    except ValueError:
        print(f"unittests.rseed={seed!r} is not a seed; a random one is used", file=sys.stderr)
        return None


def seed_rng(pseed=None):
    """Seeds NumPy's global generator with fetch_seed(pseed), and returns the seed."""
    seed = fetch_seed(pseed)
    numpy.random.seed(seed)
    return seed


def different_random_values(draw, tries=10):
    """Calls draw() until two draws differ; AssertionError if they never do."""
    first = numpy.asarray(draw())
    if not any(not numpy.array_equal(first, draw()) for _ in range(tries)):
        raise AssertionError(f"{tries} draws were all the same")


def verify_grad(op, pt, n_tests=2, rng=None, *args, **kwargs):
    """theano.tensor.verify_grad; rng defaults to NumPy's global generator, which it seeds."""
    if rng is None:
        seed_rng()
        rng = numpy.random
    testing.verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = testing.verify_grad.E_grad


class MockRandomState:
    """A generator whose floats are all `val`, and whose integers are all the upper end of the range, or the lower one
    if val is 0."""

    def __init__(self, val):
        self.val = val

    def rand(self, *shape):
        return numpy.full(shape, float(self.val))

    def randint(self, minval, maxval=None, size=1):
        low, high = (0, minval) if maxval is None else (minval, maxval)
        return numpy.full(size, low if self.val == 0 else high - 1, dtype="int64")


def _nodes(function):
    return function.maker.fgraph.toposort()


class TestOptimizationMixin:
    """Assertions on the number of applications of an op in a compiled function."""

    def _count(self, function, count, what, low, high):
        if not low <= count <= high:
            raise AssertionError(f"{what} is {count} times in {_nodes(function)}, not {low} to {high} times")

    def assertFunctionContains(self, f, op, min=1, max=sys.maxsize):
        self._count(f, sum(node.op == op for node in _nodes(f)), op, min, max)

    def assertFunctionContains0(self, f, op):
        self.assertFunctionContains(f, op, 0, 0)

    def assertFunctionContains1(self, f, op):
        self.assertFunctionContains(f, op, 1, 1)

    def assertFunctionContainsN(self, f, op, N):
        self.assertFunctionContains(f, op, N, N)

    def assertFunctionContainsClass(self, f, op, min=1, max=sys.maxsize):
        self._count(f, sum(isinstance(node.op, op) for node in _nodes(f)), op, min, max)

    def assertFunctionContainsClassN(self, f, op, N):
        self.assertFunctionContainsClass(f, op, N, N)

    def SkipTest(self, msg="Skip this test"):
        raise SkipTest(msg)


class T_OpContractMixin:
    """Tests of equality, hash and name of the ops in `ops`; a subclass defines how to clone one."""

    other_op = staticmethod(tensor.add)

    def copy(self, x):
        return copying.copy(x)

    def deepcopy(self, x):
        return copying.deepcopy(x)

    def clone(self, op):
        raise NotImplementedError("a new op that equals the given one")

    def _same(self, op):
        return [op, self.copy(op), self.deepcopy(op), self.clone(op)]

    def test_eq(self):
        for i, op in enumerate(self.ops):
            for same in self._same(op):
                assert op == same
            for other in [self.other_op, *self.ops[:i], *self.ops[i + 1:]]:
                assert op != other

    def test_hash(self):
        for i, op in enumerate(self.ops):
            for same in self._same(op):
                assert hash(op) == hash(same)
            assert hash(op) != hash(self.other_op)

    def test_name(self):
        for op in self.ops:
            assert str(op)


class InferShapeTester(unittest.TestCase):
    """Base of tests of shapes."""

    def setUp(self):
        seed_rng()
        self.mode = getattr(self, "mode", None) or modes.get_default_mode()

    def _compile_and_check(self, inputs, outputs, numeric_inputs, cls, excluding=None, warn=True, check_topo=True):
        """Checks that the shapes of the outputs, computed alone, are those of their values. It does not check that the
        op `cls` is not computed for a shape, which depends on the nodes of Croton's graph."""
        values = compiling.function(inputs, outputs, mode=self.mode)(*numeric_inputs)
        shapes = compiling.function(inputs, [o.shape for o in outputs], mode=self.mode, on_unused_input="ignore")(
            *numeric_inputs)
        for value, shape in zip(values, shapes):
            assert tuple(numpy.shape(value)) == tuple(shape), (numpy.shape(value), shape)


def _summary(value):
    value = numpy.asarray(value)
    if not value.size or value.dtype.kind not in "biuf":
        return f"shape {value.shape}, {value.dtype}: {value}"
    return (f"shape {value.shape}, {value.dtype}, from {value.min()} to {value.max()}, {numpy.isinf(value).sum()} "
            f"infinite, {numpy.isnan(value).sum()} nan: {value}")


def str_diagnostic(expected, value, rtol, atol):
    """A text that describes the difference between value and expected."""
    lines = ["expected " + _summary(expected), "value    " + _summary(value)]
    try:
        difference = numpy.abs(numpy.asarray(value) - numpy.asarray(expected))
        relative = difference / numpy.abs(expected)
        for name, d in (("absolute", difference), ("relative", relative)):
            lines.append(f"{name} difference: max {d.max()}, mean {d.mean()}, median {numpy.median(d)}")
    except (TypeError, ValueError):
        lines.append("the difference cannot be computed")
    return "\n".join([*lines, f"rtol {rtol}, atol {atol}"])


class WrongValue(Exception):
    """A value that is not the expected one."""

    def __init__(self, expected_val, val, rtol, atol):
        super().__init__()
        self.val1, self.val2, self.rtol, self.atol = expected_val, val, rtol, atol

    def __str__(self):
        return "WrongValue\n" + str_diagnostic(self.val1, self.val2, self.rtol, self.atol)


# (atol, rtol) by dtype; the less precise of the two dtypes counts.
_TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}


def assert_allclose(expected, value, rtol=None, atol=None):
    """Raises WrongValue unless the two are close; the tolerances default to those of the less precise dtype."""
    dtypes = [str(getattr(x, "dtype", "")) for x in (expected, value)]
    tolerances = [_TOLERANCES[dtype] for dtype in dtypes if dtype in _TOLERANCES] or [(1e-8, 1e-5)]
    widest = [max(column) for column in zip(*tolerances)]
    atol = widest[0] if atol is None else atol
    rtol = widest[1] if rtol is None else rtol
    if not numpy.allclose(expected, value, rtol=rtol, atol=atol):
        raise WrongValue(expected, value, rtol, atol)


class AttemptManyTimes:
    """Decorator: the test passes if n_req_successes of at most n_attempts runs pass, each with the next seed."""

    def __init__(self, n_attempts, n_req_successes=1):
        assert n_attempts >= n_req_successes
        self.n_attempts, self.n_req_successes = n_attempts, n_req_successes

    def __call__(self, function):
        @functools.wraps(function)
        def attempt(*args, **kwargs):
            case = args[0] if len(args) == 1 and hasattr(args[0], "_testMethodName") else None
            seed, passed = config.unittests.rseed, 0
            try:
                for number in range(self.n_attempts):
                    if seed not in (None, "random"):
                        config.unittests.rseed = int(seed) + number
                    if number and case is not None:
                        case.setUp()
                    try:
                        function(*args, **kwargs)
                        passed += 1
                        if passed == self.n_req_successes:
                            return
                    except Exception:
                        if self.n_attempts - number - 1 < self.n_req_successes - passed:
                            raise
            finally:
                config.unittests.rseed = seed
        return attempt


def assertFailure_fast(function):
    """Does nothing: for tests that fail with the flag cycle_detection=fast, which Croton does not have."""
    return function
