"""Activations, softmax and cross-entropies."""

from croton import _croton

from ...variables import as_variable, wrap
from .. import arrays
from ..elementwise import sigmoid, softplus  # noqa: F401
from .softmax_ops import *  # noqa: F403
from .softmax_ops import __all__ as _ops, crossentropy_softmax_argmax_1hot_with_bias, logsoftmax_op, softmax_op

_nnet = _croton.nnet


def softmax(c):
    """The softmax of each row of a matrix; a vector is taken for one row: the result is a 1 x n matrix. ValueError for
    more dimensions."""
    return softmax_op(c)


softmax_graph = softmax


def logsoftmax(c):
    """log(softmax) of each row, without overflow."""
    return logsoftmax_op(c)


def categorical_crossentropy(coding_dist, true_dist):
    """-log(coding_dist) at the positions of an integer vector, or -sum(true_dist log(coding_dist)) of rows; a vector.
    On a softmax it is computed from what that was given, without overflow. TypeError for other targets."""
    coding_dist, true_dist = as_variable(coding_dist), as_variable(true_dist)
    picked = true_dist.ndim == coding_dist.ndim - 1 and true_dist.dtype.startswith(("int", "uint"))
    if true_dist.ndim != coding_dist.ndim and not picked:
        raise TypeError("rank mismatch between coding and true distributions")
    return wrap(_nnet.categorical_crossentropy(coding_dist._croton, true_dist._croton))


def binary_crossentropy(output, target):
    """-(target log(output) + (1 - target) log(1 - output)); on a sigmoid it is computed without overflow."""
    return wrap(_nnet.binary_crossentropy(as_variable(output)._croton, as_variable(target)._croton))


def sigmoid_binary_crossentropy(output, target):
    """binary_crossentropy of sigmoid(output)."""
    return wrap(_nnet.sigmoid_binary_crossentropy(as_variable(output)._croton, as_variable(target)._croton))


def relu(x, alpha=0):
    """0.5 (x + |x|), whose gradient at 0 is 0.5; alpha: the slope below 0, which may be symbolic."""
    x = as_variable(x)
    if isinstance(alpha, (int, float)) and alpha == 0:
        return 0.5 * (x + abs(x))
    alpha = as_variable(alpha)
    return 0.5 * (1 + alpha) * x + 0.5 * (1 - alpha) * abs(x)


def elu(x, alpha=1):
    """x where it is above 0, else alpha (exp(x) - 1)."""
    from ..elementwise import expm1, switch
    x = as_variable(x)
    return switch(x > 0, x, alpha * expm1(x))


def selu(x):
    """A scaled elu, whose outputs keep mean 0 and variance 1."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def softsign(x):
    """x / (1 + |x|)."""
    return wrap(_nnet.softsign(as_variable(x)._croton))


def hard_sigmoid(x):
    """clip(0.2 x + 0.5, 0, 1)."""
    from ..elementwise import clip
    x = as_variable(x)
    dtype = x.dtype if x.dtype.startswith("float") else (x * arrays.constant(0.2)).dtype
    slope, shift = arrays.constant(0.2, dtype=dtype), arrays.constant(0.5, dtype=dtype)
    return clip(x * slope + shift, 0, 1)


def ultra_fast_sigmoid(x):
    """A piecewise approximation of the sigmoid."""
    return wrap(_nnet.ultra_fast_sigmoid(as_variable(x)._croton))


def confusion_matrix(actual, pred):
    """[matrix, labels]: how often each label was predicted as each, labels rising."""
    from ..extra_ops import Unique
    actual, pred = as_variable(actual), as_variable(pred)
    if actual.ndim != 1 or pred.ndim != 1:
        raise ValueError("actual and pred must be 1-d tensor variables")
    order = Unique(False, False, False)(arrays.concatenate([actual, pred]))
    columns, rows = order.dimshuffle(0, "x"), order.dimshuffle("x", 0)
    hits_a = arrays.eq(columns, actual.dimshuffle("x", 0)).astype("int64")
    hits_p = arrays.eq(pred.dimshuffle(0, "x"), rows).astype("int64")
    return [arrays.dot(hits_a, hits_p), order]


def crossentropy_softmax_1hot_with_bias(x, b, y_idx, **_):
    """(-log(softmax(x + b)[y]), softmax(x + b)) of each row."""
    return tuple(crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2])


def crossentropy_softmax_1hot(x, y_idx, **_):
    """(-log(softmax(x)[y]), softmax(x)) of each row."""
    return tuple(wrap(list(_nnet.crossentropy_softmax_1hot(as_variable(x)._croton, as_variable(y_idx)._croton))))


def h_softmax(x, batch_size, n_outputs, n_classes, n_outputs_per_class, W1, b1, W2, b2, target=None):
    """The probabilities of a softmax of two levels: of all outputs, or of the targets alone."""
    args = [as_variable(v)._croton for v in (x, W1, b1, W2, b2)]
    if target is None:
        return wrap(_nnet.h_softmax(*args, outputs=n_outputs))
    return wrap(_nnet.h_softmax(*args, target=as_variable(target)._croton))


def ctc(activations, labels, input_lengths):
    """-log of the probability that each sequence reads as its labels."""
    return wrap(_nnet.ctc(as_variable(activations)._croton, as_variable(labels)._croton,
                          as_variable(input_lengths)._croton))


__all__ = [*_ops, "softmax", "logsoftmax", "softmax_graph", "categorical_crossentropy", "binary_crossentropy",
           "sigmoid_binary_crossentropy", "relu", "elu", "selu", "softsign", "hard_sigmoid", "ultra_fast_sigmoid",
           "confusion_matrix", "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_1hot", "h_softmax", "ctc",
           "sigmoid", "softplus"]
