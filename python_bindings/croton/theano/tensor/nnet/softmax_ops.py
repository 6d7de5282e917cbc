"""Theano's ops for softmax, the cross-entropy of one class for each row, and their gradients."""

from croton import _croton

from ...croton_op import CrotonOp
from ...wrapping import as_variable, wrap
from .. import arrays
from ..elementwise import cast
from ..subtensor import set_subtensor
from .losses import categorical_crossentropy

_nnet = _croton.nnet


def _rows(x, what="x"):
    """The variable as rows. ValueError for variables that are not matrices or vectors of floats."""
    x = as_variable(x)
    if x.ndim not in (1, 2) or not x.dtype.startswith("float"):
        raise ValueError(f"{what} must be 1-d or 2-d tensor of floats. Got {x.type}")
    return arrays.shape_padleft(x) if x.ndim == 1 else x


def _matrix(x, what):
    x = as_variable(x)
    if x.ndim != 2 or not x.dtype.startswith("float"):
        raise ValueError(f"{what} must be 2-d tensor of floats")
    return x


def _vector(x, what):
    x = as_variable(x)
    if x.ndim != 1 or not x.dtype.startswith("float"):
        raise ValueError(f"{what} must be 1-d tensor of floats")
    return x


def _classes(x):
    """The variable as class numbers, one for each row. ValueError for variables that are not vectors of integers."""
    x = as_variable(x)
    if x.ndim != 1 or not x.dtype.startswith(("int", "uint")):
        raise ValueError(f"y_idx must be 1-d tensor of [u]ints, got {x.type}")
    return x


class Softmax(CrotonOp, shows=("softmax",)):
    """Softmax()(x): the softmax of each row of a matrix; a vector is one row."""

    def build(self, c):
        return wrap(_nnet.softmax(_rows(c)._croton))


class LogSoftmax(CrotonOp, shows=("log_softmax",)):
    """LogSoftmax()(x): the logarithm of the softmax of each row, without overflow."""

    def build(self, c):
        return wrap(_nnet.log_softmax(_rows(c)._croton))


class SoftmaxWithBias(CrotonOp):
    """SoftmaxWithBias()(x, b): softmax(x + b)."""

    def build(self, x, b):
        return wrap(_nnet.softmax_with_bias(_matrix(x, "x")._croton, _vector(b, "b")._croton))


class SoftmaxGrad(CrotonOp):
    """SoftmaxGrad()(dy, sm): the gradient by x of sm = softmax(x), where dy is the gradient by sm."""

    def build(self, dy, sm):
        weighted = _matrix(dy, "dy") * _matrix(sm, "sm")
        return weighted - arrays.sum(weighted, axis=1, keepdims=True) * sm


class CrossentropyCategorical1Hot(CrotonOp, shows=("crossentropy",)):
    """CrossentropyCategorical1Hot()(coding_dist, true_one_of_n): -log(coding_dist) at the positions of a vector."""

    def build(self, coding_dist, true_one_of_n):
        true_one_of_n = as_variable(true_one_of_n)
        if true_one_of_n.ndim != 1 or not true_one_of_n.dtype.startswith(("int", "uint")):
            raise TypeError("integer vector required for argument: true_one_of_n", true_one_of_n.type)
        return categorical_crossentropy(_matrix(coding_dist, "coding_dist"), true_one_of_n)


class CrossentropyCategorical1HotGrad(CrotonOp):
    """CrossentropyCategorical1HotGrad()(g_y, coding_dist, true_one_of_n): the gradient by coding_dist of
    CrossentropyCategorical1Hot, where g_y is the gradient by its result."""

    def build(self, g_y, coding_dist, true_one_of_n):
        g_y, coding_dist, true_one_of_n = as_variable(g_y), as_variable(coding_dist), as_variable(true_one_of_n)
        rows = arrays.arange(true_one_of_n.shape[0])
        picked = arrays.zeros_like(coding_dist)[rows, true_one_of_n]
        return set_subtensor(picked, -g_y / coding_dist[rows, true_one_of_n])


class CrossentropySoftmaxArgmax1HotWithBias(CrotonOp):
    """CrossentropySoftmaxArgmax1HotWithBias()(x, b, y_idx): [-log(softmax(x + b)[y]), softmax(x + b), argmax(x + b)] of
    each row."""

    def build(self, x, b, y_idx):
        parts = (_matrix(x, "x"), _vector(b, "b"), _classes(y_idx))
        return wrap(list(_nnet.crossentropy_softmax_argmax_1hot_with_bias(*(v._croton for v in parts))))


class CrossentropySoftmax1HotWithBiasDx(CrotonOp):
    """CrossentropySoftmax1HotWithBiasDx()(dy, sm, y_idx): the gradient by x of -log(sm[y]) of each row, with sm =
    softmax(x), where dy is the gradient by the results, a vector or one number."""

    def build(self, dy, sm, y_idx):
        dy, sm, y_idx = as_variable(dy), _matrix(sm, "sm"), _classes(y_idx)
        if dy.ndim > 1 or not dy.dtype.startswith("float"):
            raise ValueError(f"dy must be {{0,1}}-d tensor of floats, got {dy.type}")
        hot = arrays.eq(y_idx.dimshuffle(0, "x"), arrays.arange(sm.shape[1]).dimshuffle("x", 0))
        difference = sm - cast(hot, sm.dtype)
        return difference * (dy.dimshuffle(0, "x") if dy.ndim else dy)


class Prepend_scalar_to_each_row(CrotonOp):
    """Prepend_scalar_to_each_row()(val, mat): mat with a new first column of one value."""

    def build(self, val, mat):
        val, mat = as_variable(val), as_variable(mat)
        if mat.ndim != 2 or val.ndim != 0:
            raise TypeError(f"a scalar and a matrix are needed, not {val.type} and {mat.type}")
        return arrays.concatenate([arrays.alloc(val.astype(mat.dtype), mat.shape[0], 1), mat], axis=1)


class Prepend_scalar_constant_to_each_row(CrotonOp):
    """Prepend_scalar_constant_to_each_row(val)(mat): mat with a new first column of a constant."""

    __props__ = ("val",)

    def __init__(self, val):
        self.val = val

    def build(self, mat):
        return Prepend_scalar_to_each_row().build(self.val, mat)


softmax_op, logsoftmax_op, softmax_with_bias = Softmax(), LogSoftmax(), SoftmaxWithBias()
softmax_grad = SoftmaxGrad()
crossentropy_categorical_1hot = CrossentropyCategorical1Hot()
crossentropy_categorical_1hot_grad = CrossentropyCategorical1HotGrad()
crossentropy_softmax_argmax_1hot_with_bias = CrossentropySoftmaxArgmax1HotWithBias()
crossentropy_softmax_1hot_with_bias_dx = CrossentropySoftmax1HotWithBiasDx()
prepend_scalar_to_each_row = Prepend_scalar_to_each_row()
prepend_0_to_each_row, prepend_1_to_each_row = (Prepend_scalar_constant_to_each_row(value) for value in (0.0, 1.0))

__all__ = [name for name, value in list(globals().items()) if isinstance(value, CrotonOp) or (
    isinstance(value, type) and issubclass(value, CrotonOp) and value is not CrotonOp)]
