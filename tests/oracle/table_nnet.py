"""Activations, softmax and losses, against their formulas in NumPy (in wider numbers)."""

import itertools

import numpy as np
import scipy.special as sp

from samples import between, plain, unit, whole
from table import FILLED, MATRIX, TENSOR3, call, floats, floatx, magnitudes, means, row, same, twice

DTYPES = ["float64", "float32", "float16"]
NEAR = dict(result=floats, ulp=8, why="a few functions of 4 ULP, one after the other")
CANCELS = dict(result=floatx, ulp=16, absolute=16,
               why="differences of numbers near each other: the absolute error is small")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, x)


def relu(x):
    return np.maximum(x, 0)


def negative_part(x, f):
    """x if x > 0, else f(x); nan remains."""
    return np.where(x > 0, x, f(np.minimum(x, 0)))


def rectified(x, alpha=0):
    """Complex numbers have only Theano's formula."""
    return (x + np.abs(x)) / 2 if x.dtype.kind == "c" else np.where(x > 0, x, alpha * x)


ALPHA, SCALE = np.longdouble("1.6732632423543772"), np.longdouble("1.0507009873554805")
ACTIVATIONS = {
    "sigmoid": sigmoid,
    "softplus": softplus,
    "linear": lambda x: x,
    "exponential": np.exp,
    "relu6": lambda x: np.minimum(relu(x), 6),
    "selu": lambda x: SCALE * negative_part(x, lambda v: ALPHA * np.expm1(v)),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "log_sigmoid": lambda x: -softplus(-x),
    "tanh_shrink": lambda x: x - np.tanh(x),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1)**2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
}
# For integers: single functions have their own result dtype, compositions floatX.
RESULTS = {"linear": same, "sigmoid": floats, "softplus": floats, "exponential": floats}
for name, function in ACTIVATIONS.items():
    for shapes in (MATRIX, TENSOR3):
        # Compositions round between their steps, so in 16 bits x - tanh(x) is only right relative to x.
        dtypes = DTYPES[:2] if name == "tanh_shrink" else DTYPES
        row("nnet." + name, function, plain, shapes=shapes, dtypes=dtypes, interval=(-0.9, 0.9),
            coarse=name == "tanh_shrink", **(CANCELS | dict(result=RESULTS.get(name, floatx))))


def ultra_fast(x):
    """Theano's pieces with h = |x| / 2: a hyperbola up to 1.7, a line up to 3, then a constant."""
    h = np.abs(x) / 2
    z = np.where(h < 1.7, 1.5 * h / (1 + h),
                 np.where(h < 3, 0.935409070603099 + 0.0458812946797165 * (h - 1.7), 0.99505475368673))
    return 0.5 * (np.sign(x) * z + 1)


row("nnet.ultra_fast_sigmoid", ultra_fast, plain, shapes=MATRIX, dtypes=["float64", "float32"], interval=(0.2, 2),
    result=floatx, ulp=16, absolute=8, why="constants of 15 digits",
    special={"float32": "for nan it is the last piece, as in Theano"})
PARAMETERS = {
    "hard_sigmoid": (lambda x, s=np.longdouble(0.2), h=0.5: np.clip(s * x + h, 0, 1), [call(), call(0.25), call(0.125, 0.25)]),
    "relu": (rectified, [call(), call(0.25)]),
    "leaky_relu": (lambda x, s=0.2: np.where(x > 0, x, np.longdouble(s) * x), [call(), call(0.25)]),
    "elu": (lambda x, a=1: negative_part(x, lambda v: a * np.expm1(v)), [call(), call(0.5)]),
    "celu": (lambda x, a=1: negative_part(x, lambda v: a * np.expm1(v / a)),
             [call(), call(0.5)]),
    "squareplus": (lambda x, b=4: np.where(x == -np.inf, 0, (x + np.sqrt(x * x + b)) / 2), [call(), call(1.0)]),
    "soft_shrink": (lambda x, t=0.5: np.where(np.abs(x) > t, x - t * np.sign(x), 0),
                    [call(),
                     call(1.0)]), "hard_shrink": (lambda x, t=0.5: np.where(np.abs(x) > t, x, 0), [call(),
                                                                                                   call(1.0)]),
    "threshold": (lambda x, t, v=0: np.where(x > t, x, v), [call(0.5), call(1.0, -2.0)]),
    "gelu": (lambda x, approximate=False: 0.5 * x *
             (1 + np.tanh(np.sqrt(2 / np.longdouble(np.pi)) * (x + np.longdouble("0.044715") * x**3)))
             if approximate else (x * sp.ndtr(np.float64(x))), [call(), call(approximate=True)])
}
for name, (function, calls) in PARAMETERS.items():
    row("nnet." + name, function, plain, shapes=MATRIX, calls=calls, dtypes=DTYPES, interval=(0.55, 0.95), **CANCELS)
row("nnet.relu", lambda x, max_value=np.inf, negative_slope=0.0, threshold=0.0: np.where(
    x > threshold, np.minimum(x, max_value), np.longdouble(negative_slope) * (x - threshold)), plain, shapes=MATRIX,
    calls=[call(max_value=2.0), call(negative_slope=0.25, max_value=2.0, threshold=0.5), call(threshold=-1.0)],
    dtypes=DTYPES, refusals=[([np.ones(3)], call(0.5, negative_slope=0.5)), ([np.ones(3, "complex64")], call())],
    **CANCELS)
SLOPES = {"int32": "x becomes floatX first, though its product with an int32 is float64"}
row("nnet.prelu", lambda x, s: np.where(x > 0, x, s * x), plain, unit, shapes=twice(MATRIX), dtypes=DTYPES,
    interval=(-0.9, 0.9), left_out=SLOPES, special=SLOPES, **NEAR)
row("nnet.glu", lambda x, axis=-1: (lambda a, b: a * sigmoid(b))(*np.split(x, 2, axis)), plain,
    shapes=(((4, 6), ), ((2, 2), ), ((0, 4), )), calls=[call(), call(axis=0)], dtypes=DTYPES,
    **(NEAR | dict(result=floatx)))

# --- softmax -----------------------------------------------------------------------------------------------------
SOFT = dict(dtypes=DTYPES, result=floatx, ulp=16, absolute=4, why="exponentials, a sum and a quotient")
AXIS = [call(), call(axis=0), call(axis=1)]
WRAPS = {"int32": "integers are added before they become floats, and sums of extreme ones wrap"}


def log_softmax(x, axis=-1):
    """nan next to an infinity, where SciPy's is -inf."""
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


for shapes in (FILLED, (((2, 3, 4),),)):
    row("nnet.softmax", lambda x, axis=-1: sp.softmax(x, axis), plain, shapes=shapes, calls=AXIS, **SOFT)
    row("nnet.softmin", lambda x, axis=-1: sp.softmax(-x, axis), plain, shapes=shapes, calls=AXIS, **SOFT)
    row("nnet.log_softmax", log_softmax, between(-100, 100), shapes=shapes, calls=AXIS,
        **(SOFT | dict(absolute=1000, coarse=1, dtypes=DTYPES[:2])))
LOGICAL = {"bool": "a sum of two bool is a logical or"}
for axes in ((0, 1), (-1, 0), (1,)):
    row("nnet.softmax", lambda x, axis: sp.softmax(x, axis), plain, shapes=FILLED, calls=[call(axis=axes)], own=True, **SOFT)
    row("nnet.log_softmax", lambda x, axis: sp.log_softmax(x, axis), plain, shapes=FILLED, calls=[call(axis=axes)],
        own=True, **(SOFT | dict(dtypes=DTYPES[:2])))
row("nnet.softmax", lambda x, axis: sp.softmax(x, axis), plain, shapes=(((2, 3, 4),), ((3, 1, 2),)),
    calls=[call(axis=(0, 2)), call(axis=(2, 1)), call(axis=(0, 1, 2))], own=True, **SOFT)


def sparsemax(x, axis=-1):
    """Martins and Astudillo's algorithm 1: the threshold from the sorted numbers."""
    z = np.moveaxis(x, axis, -1)
    falling = -np.sort(-z, -1)
    totals, k = np.cumsum(falling, -1), np.arange(1, z.shape[-1] + 1)
    support = (1 + k * falling > totals).sum(-1, keepdims=True)
    threshold = (np.take_along_axis(totals, support - 1, -1) - 1) / support
    return np.moveaxis(np.maximum(z - threshold, 0), -1, axis)


for shapes in (FILLED, (((2, 3, 4),),)):
    row("nnet.sparsemax", sparsemax, plain, shapes=shapes, calls=AXIS, dtypes=DTYPES, ulp=2, absolute=16,
        result=floatx, special={"float32": "an infinity makes its row nan"}, why="differences from a threshold of the size of the largest",
        refusals=[([np.ones(3)], call(axis=1)), ([np.ones(3, "complex64")], call())])
WITH_BIAS = (((5, 7), (7,)), ((1, 3), (3,)), ((2, 1), (1,)))
row("nnet.softmax_with_bias", lambda x, b: sp.softmax(x + b, -1), plain, plain, shapes=WITH_BIAS,
    **(SOFT | dict(absolute=8, dtypes=DTYPES[:2], left_out=LOGICAL, special=WRAPS)))


def with_argmax(x, b, y):
    z = x + b
    return -np.take_along_axis(log_softmax(z), y[:, None], 1)[:, 0], sp.softmax(z, -1), np.argmax(z, -1)


row("nnet.crossentropy_softmax_argmax_1hot_with_bias", with_argmax, plain, plain, whole(0, 2),
    shapes=(((5, 3), (3, ), (5, )), ((1, 3), (3, ), (1, ))), dtypes=DTYPES[:2], ulp=16, absolute=32, why="a softmax",
    left_out=LOGICAL, special=WRAPS,
    result=lambda dtype: [floatx(dtype), floatx(dtype), "int64"])


row("nnet.crossentropy_softmax_1hot_with_bias", lambda x, b, y: with_argmax(x, b, y)[:2], plain, plain, whole(0, 2),
    shapes=(((5, 3), (3, ), (5, )), ((1, 3), (3, ), (1, ))), dtypes=DTYPES[:2], ulp=16, absolute=32, why="a softmax",
    left_out=LOGICAL, special=WRAPS, result=lambda dtype: [floatx(dtype), floatx(dtype)])
row("nnet.crossentropy_softmax_1hot", lambda x, y: with_argmax(x, 0, y)[:2], plain, whole(0, 2),
    shapes=(((5, 3), (5, )), ((1, 3), (1, ))), dtypes=DTYPES[:2], ulp=16, absolute=32, why="a softmax",
    left_out=LOGICAL, special=WRAPS, result=lambda dtype: [floatx(dtype), floatx(dtype)])


def two_levels(x, w1, b1, w2, b2, outputs=7):
    inside = sp.softmax(np.einsum("nd,cdk->nck", x, w2) + b2, -1)
    return (sp.softmax(x @ w1 + b1, -1)[:, :, None] * inside).reshape(len(x), -1)[:, :outputs]


row("nnet.h_softmax", two_levels, plain, plain, plain, plain, plain, dtypes=DTYPES[:2], result=floatx, left_out=LOGICAL,
    special=WRAPS, calls=[call(7)], ulp=64,
    absolute=64, shapes=(((5, 3), (3, 2), (2, ), (2, 3, 4), (2, 4)), ((1, 1), (1, 9), (9, ), (9, 1, 1), (9, 1))),
    why="two softmaxes of products")


def ctc(x, labels, lengths, blank=0):
    """Over all paths of a sequence."""
    p, costs = sp.softmax(x, -1), []
    blank %= x.shape[2]
    for b, steps in enumerate(lengths):
        wanted = tuple(itertools.takewhile(lambda c: c >= 0 and c != blank, labels[b]))
        total = 0
        for path in itertools.product(range(x.shape[2]), repeat=steps):
            if tuple(c for c, _ in itertools.groupby(path) if c != blank) == wanted:
                total = total + np.prod([p[t, b, c] for t, c in enumerate(path)])
        costs.append(-np.log(total))
    return np.array(costs, x.dtype)


row("nnet.ctc", ctc, plain, whole(-1, 2), whole(3, 4), dtypes=DTYPES, result=floatx, calls=[call(), call(-1), call(blank=1)],
    shapes=(((4, 5, 3), (5, 2), (5, )), ((4, 1, 3), (1, 1), (1, )), ((4, 2, 3), (2, 0), (2, )), ((4, 0, 3), (0, 2), (0, ))),
    ulp=16, absolute=16, why="sums of logarithms of a softmax",
    refusals=[([np.ones((4, 2, 3)), np.array([[3], [0]]), np.array([4, 4])], call()),
              ([np.ones((4, 2, 3)), np.array([[1], [0]]), np.array([4, 5])], call()),
              ([np.ones((4, 2, 3)), np.array([[1], [0]]), np.array([4, 4])], call(3)),
              ([np.ones((4, 2, 3)), np.array([[1]]), np.array([4, 4])], call()),
              ([np.ones((4, 2, 3)), np.array([[1], [0]]), np.array([4])], call())])

row("nnet.layer_norm", lambda x, eps=1e-5: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps),
    plain, shapes=FILLED, calls=[call(), call(0.1)], dtypes=DTYPES[:2], result=means, ulp=64, absolute=50,
    why="differences from a mean")

# --- losses ------------------------------------------------------------------------------------------------------
PAIRS, EPS = twice(FILLED), 1e-7
LOSS = dict(dtypes=DTYPES[:2], result=magnitudes, ulp=64, absolute=100, why="a mean of functions of 4 ULP")


def mean(x):
    return x.mean(-1)


def loss(name, reference, prediction=plain, target=plain, calls=(call(),), **facts):
    row("nnet." + name, reference, prediction, target, shapes=PAIRS, calls=list(calls), **(LOSS | facts))


def clipped(x):
    """The bounds are floatX."""
    return np.clip(x, np.float32(EPS), np.float32(1 - EPS))



def SIGNS(dtype, shape, random):
    return random.choice(np.array([0 if np.dtype(dtype).kind in "ub" else -1, 1], dtype), shape)


def hot(dtype, shape, random):
    return np.eye(shape[-1], dtype=dtype)[random.integers(0, shape[-1], shape[:-1])]


loss("mean_squared_error", lambda p, t: mean((p - t) ** 2), result=floatx)
loss("mean_absolute_error", lambda p, t: mean(np.abs(p - t)))
loss("mean_absolute_percentage_error", lambda p, t: 100 * mean(np.abs(p - t) / np.maximum(np.abs(t), EPS)), absolute=0)
loss("mean_squared_logarithmic_error", lambda p, t: mean(
    (np.log1p(np.maximum(p, EPS)) - np.log1p(np.maximum(t, EPS)))**2))
loss("huber", lambda p, t, d=1.0: mean(np.where(np.abs(p - t) <= d, (p - t) ** 2 / 2, d * np.abs(p - t) - d * d / 2)),
     calls=[call(), call(0.5)])
loss("log_cosh", lambda p, t: mean(np.logaddexp(p - t, t - p) - np.log(np.longdouble(2))))
loss("hinge", lambda p, t: mean(np.maximum(1 - t * p, 0)), target=SIGNS)
loss("squared_hinge", lambda p, t: mean(np.maximum(1 - t * p, 0) ** 2), target=SIGNS)
loss("categorical_hinge", lambda p, t: np.maximum(1 + ((1 - t) * p).max(-1) - (t * p).sum(-1), 0), target=hot,
     interval=(-0.9, 0.5))
loss("kl_divergence", lambda p, t: (np.clip(t, EPS, 1) * np.log(np.clip(t, EPS, 1) / np.clip(p, EPS, 1))).sum(-1), unit,
     unit)
loss("poisson", lambda p, t: mean(p - t * np.log(p + EPS)), unit, unit, result=floatx)
loss("cosine_similarity", lambda p, t, axis=-1: -(p * t).sum(axis) / (np.maximum(np.sqrt((p * p).sum(axis)), 1e-6)
     * np.maximum(np.sqrt((t * t).sum(axis)), 1e-6)), calls=[call(), call(axis=0)])
loss("sigmoid_binary_crossentropy", lambda z, t: t * softplus(-z) + (1 - t) * softplus(z), target=unit)
loss("binary_crossentropy", lambda p, t: -(t * np.log(p) + (1 - t) * np.log1p(-p)), unit, unit,
     result=lambda dtype: "float64" if dtype == "uint16" else floats(dtype), differs="1 - target of uint16 is int32")
ROUNDED_FIRST = {dtype: "the logits become floatX first, though their product with a target is float64"
                 for dtype in "int32 int64 uint32 uint64".split()}
loss("softmax_crossentropy", lambda z, t: -(t * log_softmax(z)).sum(-1), target=hot, result=floats,
     left_out=ROUNDED_FIRST, special={"int32": ROUNDED_FIRST["int32"]})
loss("categorical_crossentropy", lambda p, t: -(t * np.log(p)).sum(-1), unit, hot, result=floats)
CLASSES = (((5, 3), (5,)), ((1, 3), (1,)), ((0, 3), (0,)))
for name, logs in {"softmax_crossentropy": lambda z: log_softmax(z), "categorical_crossentropy": np.log}.items():
    row("nnet." + name, lambda z, y, logs=logs: -np.take_along_axis(logs(z), y[:, None], 1)[:, 0], unit, whole(0, 2),
        shapes=CLASSES, refusals=[([np.full((2, 3), 0.5), np.array([0, 3])], call())],
        **(LOSS | dict(result=floatx if name.startswith("soft") else floats)))


def focal(p, t, gamma=2.0, alpha=None):
    p = clipped(p)
    at = t * p + (1 - t) * (1 - p)
    weight = 1 if alpha is None else t * alpha + (1 - t) * (1 - alpha)
    return weight * (1 - at) ** gamma * -(t * np.log(p) + (1 - t) * np.log(1 - p))


loss("binary_focal_crossentropy", focal, unit, between(0, 1, (0, 1)), calls=[call(), call(gamma=1.0, alpha=0.25)])
loss("categorical_focal_crossentropy", lambda p, t, gamma=2.0, alpha=0.25:
     (alpha *
      (1 - clipped(p))**gamma * -t * np.log(clipped(p))).sum(-1), unit, hot, calls=[call(),
                                                                                    call(gamma=1.0, alpha=1.0)])
def log_of(p, from_logits):
    return sp.log_softmax(p, -1) if from_logits else np.log(p)


loss("categorical_crossentropy",
     lambda p, t, from_logits=False, label_smoothing=0.0: -((t * (1 - np.longdouble(label_smoothing)) +
         np.longdouble(label_smoothing) / t.shape[-1]) * log_of(p, from_logits)).sum(-1), unit, hot,
     own=True, calls=[call(from_logits=True), call(label_smoothing=0.25), call(True, 0.5)],
     refusals=[([np.ones((2, 3)), np.ones((2, 3))], call(ignore_class=0)),
               ([np.ones((2, 3)), np.ones((2, 3))], call(label_smoothing=2.0)),
               ([np.ones((2, 3), "complex64"), np.ones((2, 3))], call())])


def sparse_crossentropy(p, y, from_logits=False, label_smoothing=0.0, ignore_class=None):
    logs, s = log_of(p, from_logits), np.longdouble(label_smoothing)
    chosen = -np.take_along_axis(logs, y[:, None], 1)[:, 0]
    return np.where(y == ignore_class, 0, (1 - s) * chosen - s * logs.mean(-1))


row("nnet.categorical_crossentropy", sparse_crossentropy, unit, whole(0, 2), shapes=CLASSES,
    calls=[call(from_logits=True), call(ignore_class=1), call(True, 0.25, 2), call(label_smoothing=0.25)], own=True,
    **LOSS)


def smooth_binary(t, s):
    return t * (1 - np.longdouble(s)) + np.longdouble(s) / 2


loss("binary_crossentropy",
     lambda z, t, from_logits=True, label_smoothing=0.0: smooth_binary(t, label_smoothing) * softplus(-z) +
     (1 - smooth_binary(t, label_smoothing)) * softplus(z), target=unit,
     calls=[call(from_logits=True), call(from_logits=True, label_smoothing=0.25)],
     refusals=[([np.ones(3, "complex64"), np.ones(3)], call())])
loss("binary_focal_crossentropy",
     lambda z, t, gamma=2.0, from_logits=True, label_smoothing=0.0: focal(sigmoid(z), smooth_binary(t, label_smoothing),
                                                                        gamma), plain, between(0, 1, (0, 1)),
     own=True, calls=[call(from_logits=True), call(gamma=1.0, from_logits=True, label_smoothing=0.25)])
loss("categorical_focal_crossentropy",
     lambda z, t, from_logits=True: (0.25 * (1 - sp.softmax(z, -1)) ** 2 * -t * sp.log_softmax(z, -1)).sum(-1), plain,
     hot, own=True, calls=[call(from_logits=True)])
loss("categorical_generalized_cross_entropy", lambda p, t, q=0.5: (1 - np.maximum((p * t).sum(-1), np.float32(EPS)) ** np.longdouble(q)) /
     np.longdouble(q), unit, hot, calls=[call(), call(1.0), call(q=0.125)],
     refusals=[([np.ones((2, 3)), np.ones((2, 3))], call(0.0)), ([np.ones((2, 3)), np.ones((2, 3))], call(1.5))])
row("nnet.categorical_generalized_cross_entropy", lambda p, y, q=0.5: (1 - np.maximum(
    np.take_along_axis(p, y[:, None], 1)[:, 0], np.float32(EPS)) ** np.longdouble(q)) / np.longdouble(q), unit, whole(0, 2), shapes=CLASSES, calls=[call(), call(0.25)],
    refusals=[([np.full((2, 3), 0.5), np.array([0, 3])], call())], **LOSS)


def circle(e, y, gamma=80.0, margin=0.4, remove_diagonal=True, refs=None, labels=None):
    """As Keras's: weights and distances of the near and of the far samples, with separate logsumexps."""
    refs, labels = (e, y) if refs is None else (refs, labels)
    distance = np.maximum(1 - e @ refs.T, 0)
    far = y[:, None] != labels
    near = ~far & ~np.eye(*far.shape, dtype=bool) if remove_diagonal else ~far
    pull = -gamma * (margin + distance) * (margin - distance)
    push = gamma * np.maximum(1 + margin - distance, 0) * (1 - margin - distance)
    with_far = np.logaddexp.reduce(np.where(far, push, -np.inf), axis=1)
    return np.logaddexp(0, np.logaddexp.reduce(np.where(near, pull, -np.inf), axis=1) + with_far)


INFINITE = {dtype: "differences of infinite exponents, in another order" for dtype in ("float32", "int32")}
row("nnet.circle", circle, between(-0.6, 0.6), whole(0, 2), shapes=(((7, 3), (7,)), ((1, 3), (1,)), ((2, 4), (2,))),
    calls=[call(gamma=4.0), call(), call(8.0, 0.25, False)], dtypes=DTYPES[:2], ulp=256, absolute=64, result=floatx,
    special=INFINITE, why="exponents are gamma times distances of the precision of a product",
    refusals=[([np.ones((2, 3)), np.ones((2, 3))], call())])
row("nnet.circle", lambda e, y, r, u: circle(e, y, 80.0, 0.4, False, r, u), between(-0.6, 0.6), whole(0, 2),
    between(-0.6, 0.6), whole(0, 2), shapes=(((7, 3), (7,), (4, 3), (4,)), ((1, 3), (1,), (2, 3), (2,))),
    build=lambda f, e, y, r, u: f(e, y, remove_diagonal=False, ref_embeddings=r, ref_labels=u), dtypes=DTYPES[:2],
    result=floatx, special=INFINITE, ulp=256, absolute=64, why="as above")
loss("dice", lambda p, t, axis: 1 - (2 * (p * t).sum(axis) + EPS) / (p.sum(axis) + t.sum(axis) + EPS), unit, unit,
     calls=[call(axis=0), call(axis=(0, 1)), call(axis=-1)], refusals=[([np.ones(3), np.ones(3)], call(axis=1))])
loss("tversky", lambda p, t, alpha, beta, axis: 1 - ((p * t).sum(axis) + EPS) / ((p * t).sum(axis) + alpha *
     (p * (1 - t)).sum(axis) + beta * ((1 - p) * t).sum(axis) + EPS), unit, unit,
     calls=[call(alpha=0.3, beta=0.7, axis=1), call(alpha=0.5, beta=0.5, axis=(0,))])
loss("dice", lambda p, t: 1 - (2 * (p * t).sum() + EPS) / (p.sum() + t.sum() + EPS), unit, unit, result=floatx)
loss(
    "tversky", lambda p, t, alpha=0.5, beta=0.5: 1 - ((p * t).sum() + EPS) /
    ((p * t).sum() + alpha * (p * (1 - t)).sum() + beta *
     ((1 - p) * t).sum() + EPS), unit, unit, result=floatx, calls=[call(), call(alpha=0.3, beta=0.7)])


def confusion(actual, prediction, n):
    """Labels are compared, so they may be floats; labels outside 0 to n - 1 are not counted."""
    a, b = (np.arange(n)[:, None] == np.asarray(labels) for labels in (actual, prediction))
    return a.astype(np.int64) @ b.T.astype(np.int64)


row("nnet.confusion_matrix", confusion, whole(0, 3), whole(0, 3), shapes=(((17, ), (17, )), ((0, ), (0, ))),
    calls=[call(4)], dtypes=["int64"], wide=False)
