"""Convolution of images without channels."""

from ...wrapping import as_variable
from ..nnet.convolution import conv2d as _conv2d


def conv2d(input, filters, image_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1), **kwargs):
    """The convolution of each image with each filter; both may have another first axis: (images, rows, columns),
    (filters, rows, columns)."""
    input, filters = as_variable(input), as_variable(filters)
    if input.ndim not in (2, 3):
        raise Exception("signal.conv.conv2d only supports 2d or 3d inputs")
    if filters.ndim not in (2, 3):
        raise Exception("signal.conv.conv2d only supports 2d or 3d filters")
    images = input.dimshuffle(*(["x"] * (3 - input.ndim)), *range(input.ndim)).dimshuffle(0, "x", 1, 2)
    windows = filters.dimshuffle(*(["x"] * (3 - filters.ndim)), *range(filters.ndim)).dimshuffle(0, "x", 1, 2)
    out = _conv2d(images, windows, border_mode=border_mode, subsample=subsample)
    if input.ndim == 2 and filters.ndim == 2:
        return out[0, 0]
    if input.ndim == 2 or filters.ndim == 2:
        return out.dimshuffle(1, 2, 3, 0)[..., 0] if input.ndim == 2 else out[:, 0]
    return out


__all__ = ["conv2d"]
