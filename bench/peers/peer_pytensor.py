"""PyTensor, the successor of Theano, with its two linkers: numba, and C++ with a compiler."""
import os
import time

import cnn
import common
import fits

options = common.settings("pytensor", ["numba", "c"])
flags = {"numba": "linker=numba", "c": f"linker=cvm,openmp={options.threads > 1}"}[options.variant]
os.environ["PYTENSOR_FLAGS"] = ",".join([os.environ.get("PYTENSOR_FLAGS", ""), "floatX=float32", flags]).strip(",")
start = time.perf_counter()
import pytensor
import numpy as np
import pytensor.tensor as pt

import_s = time.perf_counter() - start

EXPRESSIONS = {"axpy_chain": lambda x: pt.tanh(1.5 * x + 0.25) * pt.sigmoid(x) + pt.exp(-x * x),
               "black_scholes": lambda *a: common.black_scholes(*a, pt.log, pt.exp, pt.sqrt, pt.erf),
               "softmax_rows": lambda x: pt.special.softmax(x, axis=1),
               "layernorm_rows": lambda *a: common.layer_norm(*a, pt.sqrt),
               **common.PLAIN}


def symbols(arrays):
    return [pt.TensorType(a.dtype, shape=(None,) * a.ndim)() for a in arrays]


def lstm(x, w, u, b):
    size = u.get_value(borrow=True).shape[0]

    def step(z, h, c, u):
        z = z + h @ u
        i, f, o = (pt.sigmoid(z[:, k * size:(k + 1) * size]) for k in (0, 1, 3))
        c = f * c + i * pt.tanh(z[:, 2 * size:3 * size])
        return o * pt.tanh(c), c
    zero = pt.zeros((x.shape[0], size), dtype=x.dtype)
    h, _ = pytensor.scan(step, sequences=[x.dimshuffle(1, 0, 2) @ w + b], outputs_info=[zero, zero],
                         non_sequences=[u], return_updates=False)
    return h[-1]


def cnn_loss(weights, x, targets):
    kernel, bias, dense, dense_bias = weights
    # PyTensor 3 has no convolution of images: the peer adds nine shifted images, which it fuses.
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    laid = sum(x[:, i:i + rows, j:j + columns] * kernel[i, j, 0] for i in range(3) for j in range(3))
    active = pt.maximum(laid + bias, 0)
    logits = active.max(axis=(1, 2)) @ dense + dense_bias
    return cross_entropy(logits, targets)


def cnn_training(weights, inputs):
    weights = [pytensor.shared(w, borrow=True) for w in weights]
    # The single channel broadcasts only if its size is static.
    x, targets = pt.TensorType("float32", shape=(None, None, None, 1))(), symbols(inputs)[1]
    loss = cnn_loss(weights, x, targets)
    step = pytensor.function([x, targets], loss, updates=adam(loss, weights))
    return lambda: [step(*inputs)], lambda: [w.get_value(borrow=True) for w in weights]


def adam(loss, weights):
    """The updates of a step."""
    count = pytensor.shared(np.float32(0))
    rate = cnn.rate_at(count + 1, pt.sqrt)
    updates = [(count, count + 1)]
    for w, g in zip(weights, pytensor.grad(loss, weights)):
        m, v = (pytensor.shared(np.zeros_like(w.get_value(borrow=True))) for _ in range(2))
        mean, square = m + (1 - cnn.BETA_1) * (g - m), v + (1 - cnn.BETA_2) * (g * g - v)
        updates += [(m, mean), (v, square), (w, w - rate * mean / (pt.sqrt(square) + cnn.EPSILON))]
    return updates


def convolved(x, kernel, side, channels, size):
    """A product whose rows are the windows of 3 x 3, two apart: `side` pixels have `size` windows along an axis."""
    place = np.arange(side * side * channels).reshape(side, side, channels)
    end = 2 * size - 1
    under = np.stack([place[i:i + end:2, j:j + end:2] for i in range(3) for j in range(3)], axis=2).ravel()
    flat = kernel.reshape((-1, kernel.shape[3]))
    # Numba takes minutes to compile the gradient of nine concatenated slices.
    return x.reshape((x.shape[0], -1))[:, under].reshape((-1, flat.shape[0])) @ flat  # (batch * windows, filters)


def normalised(z, gamma, beta, moving):
    """(result, updates of the running averages)"""
    now = z.mean(axis=0), z.var(axis=0)
    updates = [(average, fits.KEPT * average + (1 - fits.KEPT) * one) for average, one in zip(moving, now)]
    return (z - now[0]) / pt.sqrt(now[1] + fits.EPSILON) * gamma + beta, updates


def mlp_logits(weights, _, x):
    w1, b1, w2, b2 = weights
    return pt.maximum(x @ w1 + b1, 0) @ w2 + b2, []


def convnet_logits(weights, moving, x):
    kernel1, gamma1, beta1, kernel2, gamma2, beta2, dense, bias = weights
    h, updates1 = normalised(convolved(x, kernel1, 28, 1, 13), gamma1, beta1, moving[:2])
    h = pt.maximum(h, 0).reshape((-1, 13 * 13 * 16))
    h, updates2 = normalised(convolved(h, kernel2, 13, 16, 6), gamma2, beta2, moving[2:])
    return pt.maximum(h, 0).reshape((-1, 1152)) @ dense + bias, updates1 + updates2


def fitting(name, kernels, inputs):
    filled = lambda size, value: np.full(size, value, "float32")
    weights = [pytensor.shared(w, borrow=True) for w in fits.parameters(name, kernels, filled)]
    moving = [pytensor.shared(average) for average in fits.averages(name, filled)]
    x, targets = symbols(inputs)
    if name == "fit_tiny":
        loss, hits, follow = pt.mean((x @ weights[0] + weights[1] - targets)**2), pt.constant(0), []
    else:
        logits, follow = {"fit_mlp": mlp_logits, "fit_cnn": convnet_logits}[name](weights, moving, x)
        loss, hits = cross_entropy(logits, targets), pt.eq(logits.argmax(axis=1), targets).sum()
    step = pytensor.function([x, targets], [loss, hits], updates=adam(loss, weights) + follow)

    def fit(rows):
        total = right = 0
        for chosen in rows.reshape(-1, fits.BATCH[name]):
            mean, hits = step(inputs[0][chosen], inputs[1][chosen])
            total, right = total + mean * len(chosen), right + hits
        return fits.means(name, (total, right), rows)
    return fit


def cross_entropy(logits, targets):
    return -pt.mean(pt.special.log_softmax(logits, axis=1)[pt.arange(targets.shape[0]), targets])


def loss_of(name, weights, x, targets):
    if name == "lstm_step":
        return pt.mean((lstm(x, *weights) - targets)**2)
    if name == "mlp_step":
        w1, w2, w3 = weights
        logits = pt.maximum(pt.maximum(x @ w1, 0) @ w2, 0) @ w3
    else:
        logits = x @ weights[0] + weights[1]
    return cross_entropy(logits, targets)


def training(name, weights, inputs):
    weights = [pytensor.shared(w, borrow=True) for w in weights]
    x, targets = symbols(inputs)
    loss = loss_of(name, weights, x, targets)
    updates = [(w, w - common.RATES[name] * g) for w, g in zip(weights, pytensor.grad(loss, weights))]
    step = pytensor.function([x, targets], loss, updates=updates)
    return lambda: [step(*inputs)], lambda: [w.get_value(borrow=True) for w in weights]


def build(name, weights, inputs):
    if name in fits.SAMPLES:
        return fitting(name, weights, inputs)
    if name == "cnn_step":
        return cnn_training(weights, inputs)
    if name in common.RATES:
        return training(name, weights, inputs)
    if name == "call_shared":
        function = pytensor.function([], pytensor.shared(inputs[0]) * 2)
        return lambda: [function()], None
    arguments = symbols(inputs)
    if name == "lstm_forward":
        result = lstm(arguments[0], *[pytensor.shared(w, borrow=True) for w in weights])
    elif name.startswith("graph_"):
        result = common.fan_out(arguments[0], int(name.split("_")[1]), pt.tanh)
    else:
        expression = EXPRESSIONS["axpy_chain" if name.startswith("axpy_chain_") else name]
        with pytensor.config.change_flags(floatX=inputs[0].dtype.name):  # the type of numbers in expressions
            result = expression(*arguments)
    function = pytensor.function(arguments, result)
    if name == "black_scholes":  # two results
        return lambda: function(*inputs), None
    if len(inputs) == 1:
        x = inputs[0]
        return lambda: [function(x)], None
    return lambda: [function(*inputs)], None


common.run(options, build, {"pytensor": pytensor.__version__}, import_s)
