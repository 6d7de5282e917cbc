"""Conversion between images and the rows of their patches."""

from croton import _croton

from ...asserts import Assert
from ...croton_op import CrotonOp
from ...graph import Variable
from ...wrapping import as_variable, wrap
from .. import arrays


class Images2Neibs(CrotonOp):
    """Images2Neibs(mode)(ten4, neib_shape, neib_step): see images2neibs."""

    __props__ = ("mode",)

    def __init__(self, mode="valid"):
        if mode not in ("valid", "ignore_borders", "wrap_centered", "half", "full"):
            raise NotImplementedError(f"images2neibs: there is no mode {mode}; the modes are valid, ignore_borders, "
                                      "wrap_centered, half and full")
        self.mode = mode

    def build(self, ten4, neib_shape, neib_step=None):
        x = as_variable(ten4)
        if x.ndim != 4:
            raise TypeError("ten4 must be a 4D tensor")
        rows, columns = _two(neib_shape)
        row_step, column_step = (rows, columns) if neib_step is None else _two(neib_step)
        if self.mode in ("half", "full"):
            border = [n // 2 if self.mode == "half" else n - 1 for n in (rows, columns)]
            x = wrap(_croton.pad(x._croton, [(0, 0), (0, 0), (border[0], border[0]), (border[1], border[1])]))
        down, i, down_left = self._starts(x.shape[2], rows, row_step)
        across, j, across_left = self._starts(x.shape[3], columns, column_step)
        if self.mode == "valid":
            x = Assert("Images2Neibs: in mode 'valid' the steps must divide the images exactly", TypeError)(
                x, arrays.eq(down_left + across_left, 0))
        i = down.dimshuffle(0, "x", "x", "x") + i.dimshuffle("x", "x", 0, "x")
        j = across.dimshuffle("x", 0, "x", "x") + j.dimshuffle("x", "x", "x", 0)
        if self.mode == "wrap_centered":
            i, j = i % x.shape[2], j % x.shape[3]
        patches = x[:, :, i, j]  # (batch, channels, down, across, rows, columns)
        return patches.reshape((-1, rows * columns))

    def _starts(self, size, window, step):
        """The starts of windows along an axis, the positions in a window, and the number of elements after the last."""
        if self.mode == "wrap_centered":  # a window around each step-th element
            return arrays.arange((size + step - 1) // step) * step, arrays.arange(window) - window // 2, 0
        return arrays.arange((size - window) // step + 1) * step, arrays.arange(window), (size - window) % step


def images2neibs(ten4, neib_shape, neib_step=None, mode="valid"):
    """The windows of neib_shape of each image and channel, at distances neib_step, as rows of the result. mode: "valid"
    (steps must divide the images exactly), "ignore_borders", "half" or "full" with zeros around the images, or
    "wrap_centered": a window around each element, which wraps around at the borders."""
    return Images2Neibs(mode)(ten4, neib_shape, neib_step)


def _two(shape):
    """Two sizes, in a dtype that holds their product."""
    return tuple(n.astype("int64") if isinstance(n, Variable) else int(n) for n in (shape[0], shape[1]))


def neibs2images(neibs, neib_shape, original_shape, mode="valid"):
    """The images whose adjacent windows are the rows of neibs: the inverse of images2neibs without a step."""
    neibs = as_variable(neibs)
    rows, columns = _two(neib_shape)
    batch, channels, height, width = (original_shape[k] for k in range(4))
    x = neibs.reshape((batch, channels, height // rows, width // columns, rows, columns))
    image = x.dimshuffle(0, 1, 2, 4, 3, 5).reshape((batch, channels, height // rows * rows, width // columns * columns))
    if mode == "valid":
        return image
    if mode == "ignore_borders":
        return wrap(_croton.pad(image._croton, [(0, 0), (0, 0), (0, _c(height) % _c(rows)),
                                                (0, _c(width) % _c(columns))]))
    raise NotImplementedError(f"neibs2images do not support mode={mode}")


def _c(x):
    return x if isinstance(x, int) else as_variable(x)._croton


__all__ = ["Images2Neibs", "images2neibs", "neibs2images"]
