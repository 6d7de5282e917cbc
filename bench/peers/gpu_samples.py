"""Inputs and checks of the workloads on a GPU: arrays that are cheap to make, and samples of the expected results.

At full size both would otherwise take longer than the measured work. bench/gpu/noise.hpp and checks.hpp do the same.
"""
import functools
import math

import numpy as np

import common

PERIOD = 4_194_301  # a prime, so that the rows of a matrix of any width differ


@functools.lru_cache(maxsize=4)
def piece(seed, low, high, size):
    """Twice one period, so that a period may begin anywhere."""
    return np.tile(common.uniform(seed, low, high, min(size, PERIOD)), 2)


class Noise:
    """A float32 array of uniform numbers that is made when it is needed. It begins `first` numbers into a sequence of
    `size`, which repeats."""

    def __init__(self, seed, low, high, shape, first=0, size=None):
        self.shape, self.first = shape, first
        self.key = (seed, low, high, size or math.prod(shape))

    def array(self):
        values = piece(*self.key)
        period = len(values) // 2
        start = self.first % period
        return np.resize(values[start:start + period], self.shape)

    def take(self, positions):
        """Elements by their positions in C order, in float64."""
        values = piece(*self.key)
        return values[(self.first + np.asarray(positions)) % (len(values) // 2)].astype("float64")

    def rows(self, index):
        width = math.prod(self.shape[1:])
        return self.take(index[:, None] * width + np.arange(width)) if len(self.shape) > 1 else self.take(index)

    def columns(self, index):
        return self.take(np.arange(self.shape[0])[:, None] * self.shape[1] + index)

    def row_sums(self, power=1):
        """For each row of a matrix the sum of its elements or of their squares, from running sums over one period."""
        values = piece(*self.key)
        running = np.concatenate([[0], np.cumsum(values[:len(values) // 2].astype("float64")**power)])
        whole, period = running[-1], len(running) - 1
        ends = self.first + np.arange(self.shape[0] + 1) * self.shape[1]
        return np.diff(ends // period * whole + running[ends % period])


class Want:
    """One expected result: its shape, and in float64 the rows `index` along its first axis (None: all rows). If `first`
    is given, errors are relative to the change since then."""

    def __init__(self, shape, index, values, first=None):
        self.shape, self.index, self.values, self.first = shape, index, values, first

    def error(self, got):
        """The error |got - want| / |want|; infinite if an element is not a number."""
        moved = self.values if self.first is None else self.values - self.first
        error = float(np.linalg.norm(np.asarray(got, "float64") - self.values) / max(np.linalg.norm(moved), 1e-300))
        return math.inf if math.isnan(error) else error


class Problem:
    """`inputs` are only read, `weights` (the parameters of training) are updated; both are Noise or arrays. `want()`
    returns a Want for each result after `steps` steps."""

    def __init__(self, inputs, want, weights=(), steps=1, tolerance=1e-5):
        self.inputs, self.weights, self.want, self.steps, self.tolerance = inputs, weights, want, steps, tolerance


def array_of(given):
    return given.array() if isinstance(given, Noise) else given


def sampled(count, wanted):
    """About `wanted` of the positions below `count`: from 0 by an odd step, and the last one."""
    return np.unique(np.append(np.arange(0, count, max(1, count // wanted) | 1), count - 1))


def sampled_rows(shape):
    """Rows with about a million elements in total; of a vector 65,536 elements."""
    return sampled(shape[0], max(1, (1 << 20) // math.prod(shape[1:])) if len(shape) > 1 else 1 << 16)
