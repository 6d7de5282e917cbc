"""The workloads of bench/README.md, "On a GPU": inputs, and the expected results in float64.

Names, sizes, seeds and checks are those of bench/gpu/*.cpp.
"""
import functools
import math

import numpy as np

import common
from gpu_samples import Noise, Problem, Want, array_of, sampled, sampled_rows

RATE, ADAM = 0.1, {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
LAYER_NORM_EPSILON = 1e-5


def part(size, scale):
    return max(1, size // scale)


def rowwise(inputs, function, tolerance=1e-5):
    """A problem whose result has the shape of its inputs, where each row depends on the same rows of the inputs."""
    shape = inputs[0].shape
    index = sampled_rows(shape)
    return Problem(inputs, lambda: [Want(shape, index, function(*(x.rows(index) for x in inputs)))],
                   tolerance=tolerance)


def copy(scale):
    return rowwise([Noise(411, -1, 1, (part(1 << 26, scale), ))], lambda x: x, 0)


def add(scale):
    return rowwise([Noise(seed, -1, 1, (part(1 << 26, scale), )) for seed in (411, 412)], lambda x, y: x + y, 1e-7)


def axpy_chain(n, scale):
    work = lambda x: np.tanh(1.5 * x + 0.25) / (1 + np.exp(-x)) + np.exp(-x * x)
    return rowwise([Noise(101, -2, 2, (part(n, scale), ))], work)


def transpose(scale):
    x = Noise(411, -1, 1, (part(8192, scale), 8192))
    index = sampled_rows(x.shape[::-1])
    return Problem([x], lambda: [Want(x.shape[::-1], index, x.columns(index).T)], tolerance=0)


def softmax(rows, columns, scale):
    return rowwise([Noise(301, -4, 4, (part(rows, scale), columns))], common.softmax)


def reduce_sum(axis, scale):
    x = Noise(401, 0, 1, (part(16384, scale), 8192))

    def want():
        if axis is None:
            return [Want((), None, x.row_sums().sum())]
        index = sampled(x.shape[1 - axis], 512)
        lines = x.columns(index) if axis == 0 else x.rows(index)
        return [Want((x.shape[1 - axis], ), index, lines.sum(axis=axis))]
    return Problem([x], want)


def layer_norm_inputs(scale):
    shape = part(8192, scale), 4096
    return [Noise(302, -4, 4, shape), Noise(303, 0.5, 1.5, shape[1:]), Noise(304, -1, 1, shape[1:]),
            Noise(305, -1, 1, shape)]


def layer_norm(scale):
    x, gamma, beta, _ = layer_norm_inputs(scale)
    index = sampled_rows(x.shape)
    work = lambda: common.layer_norm(x.rows(index), *(g.array().astype("float64") for g in (gamma, beta)), np.sqrt)
    return Problem([x, gamma, beta], lambda: [Want(x.shape, index, work())])


def layer_norm_grad(scale):
    x, gamma, beta, dy = inputs = layer_norm_inputs(scale)
    return Problem(inputs, lambda: layer_norm_gradients(x, gamma, dy))


def layer_norm_gradients(x, gamma, dy):
    width = x.shape[1]
    mean = x.row_sums()[:, None] / width
    spread = 1 / np.sqrt(x.row_sums(2)[:, None] / width - mean**2 + LAYER_NORM_EPSILON)
    rows, columns = sampled_rows(x.shape), sampled(width, 512)
    normal = (x.rows(rows) - mean[rows]) * spread[rows]
    slope = dy.rows(rows) * gamma.array().astype("float64")
    average = lambda a: a.mean(axis=1, keepdims=True)
    dx = spread[rows] * (slope - average(slope) - normal * average(slope * normal))
    above = dy.columns(columns)
    return [Want(x.shape, rows, dx),
            Want((width, ), columns, (above * (x.columns(columns) - mean) * spread).sum(axis=0)),
            Want((width, ), columns, above.sum(axis=0))]


def transformer(scale):
    """The shapes of 100 tensors of 96.1 million parameters: 768 units, 50,257 words, 1,024 places, eight layers."""
    n = 768
    layer = [(n, ), (n, ), (n, 3 * n), (3 * n, ), (n, n), (n, ), (n, ), (n, ), (n, 4 * n), (4 * n, ), (4 * n, n), (n, )]
    return [(part(rows, scale), *rest) for rows, *rest in [(50257, n), (1024, n), (n, ), (n, ), *layer * 8]]


def adam(scale):
    shapes = transformer(scale)
    starts = np.cumsum([0] + [math.prod(shape) for shape in shapes])
    noise = lambda seed, bound: [Noise(seed, -bound, bound, shape, first, starts[-1])
                                 for shape, first in zip(shapes, starts)]
    parameters, gradients = noise(611, 0.05), noise(612, 0.01)
    steps = 3

    def want():
        indices = [sampled(shape[0], 4 if len(shape) > 1 else 1024) for shape in shapes]
        first = [p.rows(index) for p, index in zip(parameters, indices)]
        after = [adam_steps(p, g.rows(index), steps) for p, g, index in zip(first, gradients, indices)]
        return [Want(shape, index, values[kind], start if kind == 0 else None)
                for kind in range(3) for shape, index, values, start in zip(shapes, indices, after, first)]
    # Programs that compute 1 - 0.999^t in float32 are off by up to 3e-5 in the first step.
    return Problem(gradients, want, parameters, steps, tolerance=1e-4)


def adam_steps(parameter, gradient, steps):
    """(parameter, mean, square) after steps with the same gradient, by PyTorch's formula."""
    (b1, b2), mean, square = ADAM["betas"], 0, 0
    for t in range(1, steps + 1):
        mean = b1 * mean + (1 - b1) * gradient
        square = b2 * square + (1 - b2) * gradient**2
        parameter = parameter - ADAM["lr"] / (1 - b1**t) * mean / (np.sqrt(square / (1 - b2**t)) + ADAM["eps"])
    return parameter, mean, square


def mlp(scale, batch, widths, bounds, seeds, biases, steps):
    """The weights, then the biases if there are any. The batch repeats 16 rows, so that a reference needs only
    these."""
    distinct = 16
    batch = max(1, batch // scale // distinct) * distinct
    widths = [max(10, width // scale) for width in widths]
    weights = [Noise(seeds[0] + i, -bound, bound, shape)
               for i, (bound, *shape) in enumerate(zip(bounds, widths, widths[1:]))]
    offsets = [np.zeros(width, "float32") for width in widths[1:]] if biases else []
    x = Noise(seeds[1], -1, 1, (batch, widths[0]), size=distinct * widths[0])
    targets = common.uniform(seeds[2], 0, widths[-1], distinct, dtype="float64").astype("int64")

    def want():
        values, rows = [array_of(p).astype("float64") for p in (*weights, *offsets)], x.rows(np.arange(distinct))
        for _ in range(steps):
            descend(values[:len(weights)], values[len(weights):], rows, targets)
        index = [sampled(len(p), 64 if p.ndim > 1 else 1 << 16) for p in values]
        first = [p.rows(i) if isinstance(p, Noise) else p[i] for p, i in zip((*weights, *offsets), index)]
        return [Want(p.shape, i, p[i], start) for p, i, start in zip(values, index, first)]
    # Sums over the batch in sequence round equal rows equally: up to 1.3e-4. TF32 moves units across zero: 1.5e-2.
    return Problem([x, np.resize(targets, batch)], want, [*weights, *offsets], steps, tolerance=5e-4)


def descend(weights, biases, x, targets):
    """One step of gradient descent in place."""
    inputs = [x]
    for i, w in enumerate(weights):
        z = inputs[-1] @ w + (biases[i] if biases else 0)
        inputs.append(np.maximum(z, 0))
    slope = common.cross_entropy(z, targets)[1]
    for i in reversed(range(len(weights))):
        before = (slope @ weights[i].T) * (inputs[i] > 0)
        weights[i] -= RATE * (inputs[i].T @ slope)
        if biases:
            biases[i] -= RATE * slope.sum(axis=0)
        slope = before


def mlp_step(scale):
    return mlp(scale, 800, [1000, 1000, 1000, 10], [0.05, 0.05, 0.1], (502, 5025, 505), False, 3)


def mlp_big(scale):
    return mlp(scale, 4096, [4096, 4096, 4096, 1000], [0.038] * 3, (512, 5142, 515), True, 1)


# name: (kind, maker); a peer has one function per kind.
WORKLOADS = {"copy": ("copy", copy),
             "add": ("add", add),
             "axpy_chain_1e8": ("axpy_chain", functools.partial(axpy_chain, 10**8)),
             "axpy_chain_1e6": ("axpy_chain", functools.partial(axpy_chain, 10**6)),
             "transpose": ("transpose", transpose),
             "softmax_rows": ("softmax", functools.partial(softmax, 65536, 1024)),
             "softmax_4096x32768": ("softmax", functools.partial(softmax, 4096, 32768)),
             "softmax_128x32768": ("softmax", functools.partial(softmax, 128, 32768)),
             "layer_norm": ("layer_norm", layer_norm),
             "layer_norm_grad": ("layer_norm_grad", layer_norm_grad),
             "reduce_sum_0": ("reduce_sum_0", functools.partial(reduce_sum, 0)),
             "reduce_sum_1": ("reduce_sum_1", functools.partial(reduce_sum, 1)),
             "reduce_sum_all": ("reduce_sum_all", functools.partial(reduce_sum, None)),
             "adam_100": ("adam", adam),
             "mlp_step": ("mlp", mlp_step),
             "mlp_big": ("mlp", mlp_big)}
