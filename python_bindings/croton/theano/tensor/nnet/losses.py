"""Cross-entropies and other losses, and the confusion matrix."""

from croton import _croton

from ...wrapping import as_variable, wrap
from .. import arrays
from ..extra_ops import Unique

_nnet = _croton.nnet


def categorical_crossentropy(coding_dist, true_dist):
    """The cross-entropy of each row, a vector: -log(coding_dist) at the positions of an integer vector, or
    -sum(true_dist log(coding_dist)). For a softmax it is computed from its input, without overflow. TypeError for other
    targets."""
    coding_dist, true_dist = as_variable(coding_dist), as_variable(true_dist)
    picked = true_dist.ndim == coding_dist.ndim - 1 and true_dist.dtype.startswith(("int", "uint"))
    if true_dist.ndim != coding_dist.ndim and not picked:
        raise TypeError("rank mismatch between coding and true distributions")
    return wrap(_nnet.categorical_crossentropy(coding_dist._croton, true_dist._croton))


def binary_crossentropy(output, target):
    """-(target log(output) + (1 - target) log(1 - output)); for a sigmoid it is computed without overflow."""
    return wrap(_nnet.binary_crossentropy(as_variable(output)._croton, as_variable(target)._croton))


def sigmoid_binary_crossentropy(output, target):
    """binary_crossentropy of sigmoid(output)."""
    return wrap(_nnet.sigmoid_binary_crossentropy(as_variable(output)._croton, as_variable(target)._croton))


def ctc(activations, labels, input_lengths):
    """The loss of connectionist temporal classification: -log of the probability of each sequence's labels."""
    return wrap(_nnet.ctc(as_variable(activations)._croton, as_variable(labels)._croton,
                          as_variable(input_lengths)._croton))


def confusion_matrix(actual, pred):
    """[matrix, labels]: matrix[i, j] is how often label i was predicted as label j; labels are ascending."""
    actual, pred = as_variable(actual), as_variable(pred)
    if actual.ndim != 1 or pred.ndim != 1:
        raise ValueError("actual and pred must be 1-d tensor variables")
    order = Unique(False, False, False)(arrays.concatenate([actual, pred]))
    columns, rows = order.dimshuffle(0, "x"), order.dimshuffle("x", 0)
    hits_a = arrays.eq(columns, actual.dimshuffle("x", 0)).astype("int64")
    hits_p = arrays.eq(pred.dimshuffle(0, "x"), rows).astype("int64")
    return [arrays.dot(hits_a, hits_p), order]


__all__ = ["categorical_crossentropy", "binary_crossentropy", "sigmoid_binary_crossentropy", "ctc", "confusion_matrix"]
