"""Patches of images as rows, and back."""

from croton import _croton

from ...variables import as_variable, wrap
from .. import arrays


def images2neibs(ten4, neib_shape, neib_step=None, mode="valid"):
    """The windows of neib_shape of each image and channel, neib_step apart, each as a row of the result. mode: "valid"
    (steps must divide the images exactly), "ignore_borders", or "half" or "full" with zeros around."""
    x = as_variable(ten4)
    if x.ndim != 4:
        raise TypeError("ten4 must be a 4D tensor")
    rows, columns = _two(neib_shape)
    row_step, column_step = (rows, columns) if neib_step is None else _two(neib_step)
    if mode not in ("valid", "ignore_borders", "half", "full"):
        raise NotImplementedError(f"images2neibs: the mode {mode} is not there; valid, ignore_borders, half and full are")
    if mode in ("half", "full"):
        border = [n // 2 if mode == "half" else n - 1 for n in (rows, columns)]
        x = wrap(_croton.pad(x._croton, [(0, 0), (0, 0), (border[0], border[0]), (border[1], border[1])]))
    down = arrays.arange((x.shape[2] - rows) // row_step + 1) * row_step
    across = arrays.arange((x.shape[3] - columns) // column_step + 1) * column_step
    i = down.dimshuffle(0, "x", "x", "x") + arrays.arange(rows).dimshuffle("x", "x", 0, "x")
    j = across.dimshuffle("x", 0, "x", "x") + arrays.arange(columns).dimshuffle("x", "x", "x", 0)
    patches = x[:, :, i, j]  # (batch, channels, down, across, rows, columns)
    if mode == "valid":
        left = (x.shape[2] - rows) % row_step + (x.shape[3] - columns) % column_step
        from ...asserts import Assert
        patches = Assert("Images2Neibs: in mode 'valid' the steps must divide the images exactly")(
            patches, arrays.eq(left, 0))
    return patches.reshape((-1, rows * columns))


def _two(shape):
    shape = shape if isinstance(shape, (list, tuple)) else [shape[0], shape[1]]
    return shape[0], shape[1]


def neibs2images(neibs, neib_shape, original_shape, mode="valid"):
    """The images whose windows, side by side, are the rows of neibs: the inverse of images2neibs without a step."""
    neibs = as_variable(neibs)
    rows, columns = _two(neib_shape)
    batch, channels, height, width = (original_shape[k] for k in range(4))
    x = neibs.reshape((batch, channels, height // rows, width // columns, rows, columns))
    image = x.dimshuffle(0, 1, 2, 4, 3, 5).reshape((batch, channels, height // rows * rows, width // columns * columns))
    if mode == "valid":
        return image
    if mode == "ignore_borders":
        return wrap(_croton.pad(image._croton, [(0, 0), (0, 0), (0, _c(height) % _c(rows)), (0, _c(width) % _c(columns))]))
    raise NotImplementedError(f"neibs2images do not support mode={mode}")


def _c(x):
    return x if isinstance(x, int) else as_variable(x)._croton


__all__ = ["images2neibs", "neibs2images"]
