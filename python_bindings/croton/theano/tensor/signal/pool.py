"""Pooling over the last axes."""

from croton import _croton

from ...croton_op import CrotonOp
from ...gradients import Lop, Rop
from ...variables import TensorVariable
from ...wrapping import as_variable, wrap
from ..constants import NotScalarConstantError, get_scalar_constant_value
from ..creation import zeros_like
from ..elementwise import eq, switch

_nnet = _croton.nnet
_MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def _numbers(x, axes, what):
    if isinstance(x, TensorVariable):
        try:
            return tuple(int(get_scalar_constant_value(x[i])) for i in range(axes))
        except NotScalarConstantError:
            raise NotImplementedError(
                f"pooling: {what} must be numbers that are known when the graph is built") from None
    if isinstance(x, int):
        return (x,) * axes
    x = tuple(x)
    if len(x) != axes:
        raise ValueError(f"{what} has {len(x)} sizes; {axes} are needed")
    for n in x:
        if isinstance(n, float):
            raise TypeError(f"{what} must be ints, not {x}")
    return tuple(int(n) if not isinstance(n, TensorVariable) else _numbers(n.dimshuffle("x"), 1, what)[0] for n in x)


def _check_mode(mode):
    if mode not in _MODES:
        raise ValueError(f"Pool mode parameter only support 'max', 'sum', 'average_inc_pad' and 'average_exc_pad'. Got "
                         f"{mode}")


def _pool(axes, input, ws, ignore_border, stride, pad, mode, ds, st, padding):
    if ds is not None:
        if ws is not None:
            raise ValueError("You can't provide a tuple value to both 'ws' and 'ds'. Please provide a value only to "
                             "'ws'.")
        ws = ds
    if st is not None:
        if stride is not None:
            raise ValueError("You can't provide a tuple value to both 'st and 'stride'. Please provide a value only to "
                             "'stride'.")
        stride = st
    if padding is not None:
        if pad not in {None, (0,) * axes}:
            raise ValueError("You can't provide a tuple value to both 'padding' and pad. Please provide a value only "
                             "to pad.")
        pad = padding
    if ws is None:
        raise ValueError("pooling needs ws, the sizes of the windows")
    input = as_variable(input)
    if input.ndim < axes:
        raise NotImplementedError(f"pool_{axes}d requires a dimension >= {axes}")
    ws = _numbers(ws, axes, "ws")
    stride = ws if stride is None else _numbers(stride, axes, "stride")
    pad = (0,) * axes if pad is None else _numbers(pad, axes, "pad")
    ignore_border = bool(ignore_border)
    _check_mode(mode)
    if any(pad):
        if not ignore_border:
            raise NotImplementedError("padding works only with ignore_border=True")
        if any(p >= w for p, w in zip(pad, ws)):
            raise NotImplementedError("padding must be smaller than strides")
    if any(s < 1 for s in stride) or any(w < 1 for w in ws):
        raise ValueError("sizes and strides of windows are at least 1")
    border = [(p, p) for p in pad] if any(pad) else "valid"
    return wrap(_nnet.pool(input._croton, list(ws), strides=list(stride), border=border, mode=mode,
                           ignore_border=ignore_border))


def pool_2d(input, ws=None, ignore_border=None, stride=None, pad=(0, 0), mode="max", ds=None, st=None, padding=None):
    """The maxima, sums or means of windows over the last two axes. ignore_border: omits a last window that is not
    complete. mode: "max", "sum", "average_inc_pad" or "average_exc_pad"."""
    return _pool(2, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def pool_3d(input, ws=None, ignore_border=None, stride=None, pad=(0, 0, 0), mode="max", ds=None, st=None,
            padding=None):
    """The maxima, sums or means of windows over the last three axes, as pool_2d."""
    return _pool(3, input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def max_pool_2d_same_size(input, patch_size):
    """The image with all elements except the largest of each patch set to 0."""
    input = as_variable(input)
    largest = pool_2d(input, patch_size, True)
    rows, columns = (int(n) for n in patch_size)
    back = wrap(_croton.repeat(_croton.repeat(largest._croton, rows, input.ndim - 2), columns, input.ndim - 1))
    return switch(eq(input, back), input, zeros_like(input))


def max_pool_2d(input, ds, ignore_border=None, st=None, padding=(0, 0), mode="max"):
    """pool_2d under its older name."""
    return pool_2d(input, ds, ignore_border, st, padding, mode)


class Pool(CrotonOp):
    """Pool(ignore_border, mode, ndim)(x, ws, stride, pad): pooling over the last ndim axes."""

    __props__ = ("ignore_border", "mode", "ndim")

    def __init__(self, ignore_border=False, mode="max", ndim=2, openmp=None):
        _check_mode(mode)
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim

    def build(self, x, ws, stride=None, pad=None):
        return _pool(self.ndim, x, ws, self.ignore_border, stride, pad, self.mode, None, None, None)

    @staticmethod
    def out_shape(imgshape, ws=None, ignore_border=False, stride=None, pad=None, ndim=2, ds=None, st=None,
                  padding=None):
        """The shape of the result."""
        ws = ds if ws is None else ws
        stride = (st if stride is None else stride) or ws
        pad = (padding if pad is None else pad) or (0,) * ndim
        out = list(imgshape[:-ndim])
        for n, w, s, p in zip(imgshape[-ndim:], ws, stride, pad):
            n = n + 2 * p
            if ignore_border:
                out.append(max((n - w) // s + 1, 0))
            elif s >= w:
                out.append((n - 1) // s + 1)
            else:
                out.append(max(0, (n - 1 - w + s) // s) + 1)
        return out


class _PoolGradient(CrotonOp):
    """Base of gradients of pooling as ops."""

    __props__ = ("ignore_border", "mode", "ndim")

    def __init__(self, ignore_border, mode="max", ndim=2, openmp=None):
        self.ignore_border, self.mode, self.ndim = ignore_border, mode, ndim

    def _through(self, derivative, x, along, ws, stride, pad):
        """The derivative (Lop or Rop) of pooling by x."""
        x = as_variable(x)
        pooled = Pool(self.ignore_border, self.mode, self.ndim).build(x, ws, stride, pad)
        return derivative(pooled, x, as_variable(along))


class MaxPoolGrad(_PoolGradient):
    """MaxPoolGrad(ignore_border, ndim=)(x, maxout, gz, ws, stride, pad): the gradient by x of max-pooling, where gz is
    the gradient by its result."""

    def __init__(self, ignore_border, ndim=2, openmp=None):
        super().__init__(ignore_border, "max", ndim)

    def build(self, x, maxout, gz, ws, stride=None, pad=None):
        return self._through(Lop, x, gz, ws, stride, pad)


class AveragePoolGrad(_PoolGradient):
    """AveragePoolGrad(ignore_border, mode, ndim)(x, gz, ws, stride, pad): the gradient by x of pooling by "sum" or an
    average, where gz is the gradient by its result."""

    def __init__(self, ignore_border, mode="average_inc_pad", ndim=2):
        if mode not in _MODES[1:]:
            raise ValueError(f"AveragePoolGrad takes the modes {', '.join(_MODES[1:])}, not {mode}")
        super().__init__(ignore_border, mode, ndim)

    def build(self, x, gz, ws, stride=None, pad=None, dummy=None):
        return self._through(Lop, x, gz, ws, stride, pad)


class DownsampleFactorMaxGradGrad(_PoolGradient):
    """DownsampleFactorMaxGradGrad(ignore_border, ndim=)(x, maxout, ggx, ws, stride, pad): for each window, the sum of
    the elements of ggx where x is the largest."""

    def __init__(self, ignore_border, mode="max", ndim=2, openmp=None):
        super().__init__(ignore_border, mode, ndim)

    def build(self, x, maxout, ggx, ws, stride=None, pad=None):
        return self._through(Rop, x, ggx, ws, stride, pad)


__all__ = ["pool_2d", "pool_3d", "max_pool_2d_same_size", "max_pool_2d", "Pool", "MaxPoolGrad", "AveragePoolGrad",
           "DownsampleFactorMaxGradGrad"]
