"""Softmax and functions of it."""

from croton import _croton

from ...wrapping import as_variable, wrap
from .softmax_ops import crossentropy_softmax_argmax_1hot_with_bias, logsoftmax_op, softmax_op

_nnet = _croton.nnet


def softmax(c):
    """The softmax of each row of a matrix; a vector is one row, with a 1 x n matrix as result. ValueError for more
    dimensions."""
    return softmax_op(c)


softmax_graph = softmax


def logsoftmax(c):
    """The logarithm of the softmax of each row, without overflow."""
    return logsoftmax_op(c)


def crossentropy_softmax_1hot_with_bias(x, b, y_idx, **_):
    """(-log(softmax(x + b)[y]), softmax(x + b)) of each row."""
    return tuple(crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2])


def crossentropy_softmax_1hot(x, y_idx, **_):
    """(-log(softmax(x)[y]), softmax(x)) of each row."""
    return tuple(wrap(list(_nnet.crossentropy_softmax_1hot(as_variable(x)._croton, as_variable(y_idx)._croton))))


def h_softmax(x, batch_size, n_outputs, n_classes, n_outputs_per_class, W1, b1, W2, b2, target=None):
    """The probabilities of a two-level softmax: of all outputs, or only of the targets."""
    args = [as_variable(v)._croton for v in (x, W1, b1, W2, b2)]
    if target is None:
        return wrap(_nnet.h_softmax(*args, outputs=n_outputs))
    return wrap(_nnet.h_softmax(*args, target=as_variable(target)._croton))


__all__ = ["softmax", "logsoftmax", "softmax_graph", "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_1hot",
           "h_softmax"]
