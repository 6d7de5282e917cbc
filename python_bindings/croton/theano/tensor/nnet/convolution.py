"""Convolutions of images (batch, channels, rows, columns) with filters (results, channels, rows, columns)."""

from croton import _croton

from ...graph import Variable
from ...wrapping import as_sizes, as_variable, unwrap, wrap
from .. import arrays
from ..elementwise import cast

_nnet = _croton.nnet


def _border(mode, axes):
    """A border for Croton. ValueError for an unknown mode."""
    if isinstance(mode, str):
        if mode not in ("valid", "full", "half"):
            raise ValueError(f"invalid border_mode {mode}, which must be either \"valid\", \"full\", \"half\", an "
                             "integer or a tuple of length {axes}")
        return mode
    if isinstance(mode, int):
        mode = (mode,) * axes
    if not isinstance(mode, (list, tuple)) or len(mode) != axes:
        raise ValueError(f"invalid border_mode {mode}: a number, or one or two for each of {axes} axes")
    sides = [(m, m) if isinstance(m, int) else tuple(m) for m in mode]
    if any(side < 0 for pair in sides for side in pair):
        raise ValueError("border_mode must be >= 0")
    return sides


def _conv(input, filters, axes, border_mode, subsample, filter_flip, dilation, groups):
    input, filters = as_variable(input), as_variable(filters)
    if input.ndim != axes + 2:
        raise ValueError(f"input must be a {axes + 2}-D tensor, not {input.ndim}-D")
    if filters.ndim != axes + 2:
        raise ValueError(f"filters must be a {axes + 2}-D tensor, not {filters.ndim}-D")
    return wrap(_nnet.conv(input._croton, filters._croton, border=_border(border_mode, axes), strides=list(subsample),
                           dilations=list(dilation), groups=groups, flip=filter_flip))


def _check_shapes(shape, what, count):
    if shape is None:
        return
    if len(shape) != count:
        raise ValueError(f"{what} should be None or a tuple of len {count}, got a tuple of len {len(shape)}")
    for n in shape:
        value = n.data if hasattr(n, "data") and isinstance(n, Variable) else n
        if isinstance(value, float):
            raise TypeError(f"{what} holds {value}; sizes are whole numbers")


def conv2d(input, filters, input_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1), filter_flip=True,
           image_shape=None, filter_dilation=(1, 1), num_groups=1, unshared=False, **kwargs):
    """The convolution of images with filters, which are flipped with filter_flip, else the cross-correlation.
    border_mode: "valid", "full", "half", a number, or one or a pair for each axis. Shapes are hints. ValueError for
    invalid options."""
    if kwargs:
        unknown = set(kwargs) - {"imshp", "kshp", "imshp_logical", "kshp_logical", "bsize", "nkern", "version",
                                 "unroll_batch", "unroll_kern", "unroll_patch", "openmp", "direction_hint"}
        if unknown:
            raise ValueError(f"conv2d does not take {sorted(unknown)}")
    if unshared:
        raise NotImplementedError("conv2d: separate filters for each position (unshared=True) are not supported; the "
                                  "nearest is images2neibs and a product")
    _check_shapes(input_shape if input_shape is not None else image_shape, "input_shape", 4)
    _check_shapes(filter_shape, "filter_shape", 4)
    return _conv(input, filters, 2, border_mode, subsample, filter_flip, filter_dilation, num_groups)


def conv3d(input, filters, input_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1, 1),
           filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1, unshared=False):
    """The convolution of volumes (batch, channels, depth, rows, columns), as conv2d."""
    _check_shapes(input_shape, "input_shape", 5)
    _check_shapes(filter_shape, "filter_shape", 5)
    return _conv(input, filters, 3, border_mode, subsample, filter_flip, filter_dilation, num_groups)


def old_conv2d(input, filters, image_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1), **kwargs):
    """The convolution of images, as theano.tensor.nnet.conv.conv2d: with borders valid and full only."""
    return conv2d(input, filters, image_shape, filter_shape, border_mode, subsample)


def _grad_inputs(filters, top, sizes, axes, border_mode, subsample, flip, dilation, groups):
    return wrap(_nnet.conv_transpose(as_variable(top)._croton, as_variable(filters)._croton,
                                     [unwrap(n) for n in sizes], border=_border(border_mode, axes),
                                     strides=list(subsample), dilations=list(dilation), groups=groups, flip=flip))


def _known_sizes(shape, axes):
    """The sizes of the axes of a symbolic shape, (rows, columns) or the whole one."""
    sizes = as_sizes(shape) if not isinstance(shape, (list, tuple)) else list(shape)
    return sizes[-axes:]


def conv2d_transpose(input, filters, output_shape, filter_shape=None, border_mode="valid", input_dilation=(1, 1),
                     filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """The transposed convolution: the gradient of conv2d, of an image of output_shape, by the image. filters: (channels
    of the input, channels of the output, rows, columns)."""
    return _grad_inputs(filters, input, _known_sizes(output_shape, 2), 2, border_mode, input_dilation, filter_flip,
                        filter_dilation, num_groups)


def conv2d_grad_wrt_inputs(output_grad, filters, input_shape, filter_shape=None, border_mode="valid", subsample=(1, 1),
                           filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """The gradient of conv2d by its input."""
    return _grad_inputs(filters, output_grad, _known_sizes(input_shape, 2), 2, border_mode, subsample, filter_flip,
                        filter_dilation, num_groups)


def conv3d_grad_wrt_inputs(output_grad, filters, input_shape, filter_shape=None, border_mode="valid",
                           subsample=(1, 1, 1), filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1):
    """The gradient of conv3d by its input."""
    return _grad_inputs(filters, output_grad, _known_sizes(input_shape, 3), 3, border_mode, subsample, filter_flip,
                        filter_dilation, num_groups)


def _grad_weights(input, top, sizes, axes, border_mode, subsample, flip, dilation, groups):
    return wrap(_nnet.conv_filter_gradient(as_variable(input)._croton, as_variable(top)._croton,
                                           [unwrap(n) for n in sizes], border=_border(border_mode, axes),
                                           strides=list(subsample), dilations=list(dilation), groups=groups, flip=flip))


def conv2d_grad_wrt_weights(input, output_grad, filter_shape, input_shape=None, border_mode="valid", subsample=(1, 1),
                            filter_flip=True, filter_dilation=(1, 1), num_groups=1, unshared=False):
    """The gradient of conv2d by its filters."""
    return _grad_weights(input, output_grad, _known_sizes(filter_shape, 2), 2, border_mode, subsample, filter_flip,
                         filter_dilation, num_groups)


def conv3d_grad_wrt_weights(input, output_grad, filter_shape, input_shape=None, border_mode="valid",
                            subsample=(1, 1, 1), filter_flip=True, filter_dilation=(1, 1, 1), num_groups=1):
    """The gradient of conv3d by its filters."""
    return _grad_weights(input, output_grad, _known_sizes(filter_shape, 3), 3, border_mode, subsample, filter_flip,
                         filter_dilation, num_groups)


class _AbstractConv:
    """Base of convolutions as ops: the constructor has the options, a call the operands."""

    axes = 2

    def __init__(self, imshp=None, kshp=None, border_mode="valid", subsample=None, filter_flip=True,
                 filter_dilation=None, num_groups=1, unshared=False, convdim=None):
        self.imshp, self.kshp = imshp, kshp
        self.axes = convdim or self.axes
        ones = (1,) * self.axes
        self.border_mode, self.filter_flip, self.num_groups = border_mode, filter_flip, num_groups
        self.subsample = tuple(subsample or ones)
        self.filter_dilation = tuple(filter_dilation or ones)
        _border(border_mode, self.axes)

    def _arguments(self):
        return (self.axes, self.border_mode, self.subsample, self.filter_flip, self.filter_dilation, self.num_groups)


class AbstractConv2d(_AbstractConv):
    def __call__(self, img, kern):
        return _conv(img, kern, *self._arguments())


class AbstractConv2d_gradInputs(_AbstractConv):
    def __call__(self, kern, topgrad, shape, add_assert_shape=True):
        return _grad_inputs(kern, topgrad, _known_sizes(shape, self.axes), *self._arguments())


class AbstractConv2d_gradWeights(_AbstractConv):
    def __call__(self, img, topgrad, shape, add_assert_shape=True):
        return _grad_weights(img, topgrad, _known_sizes(shape, self.axes), *self._arguments())


class AbstractConv3d(AbstractConv2d):
    axes = 3


class AbstractConv3d_gradInputs(AbstractConv2d_gradInputs):
    axes = 3


class AbstractConv3d_gradWeights(AbstractConv2d_gradWeights):
    axes = 3


def get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample, filter_dilation=None):
    """The shape of a convolution's result, with None for unknown sizes."""
    axes = len(subsample)
    dilation = filter_dilation or (1,) * axes
    modes = [border_mode] * axes if isinstance(border_mode, (str, int)) else border_mode
    out = (image_shape[0], kernel_shape[0]) + tuple(
        get_conv_shape_1axis(image_shape[2 + i], kernel_shape[-axes + i], modes[i], subsample[i], dilation[i])
        for i in range(axes))
    return out


def get_conv_shape_1axis(image_shape, kernel_shape, border_mode, subsample, dilation=1):
    """The size of a convolution's result along one axis."""
    if None in (image_shape, kernel_shape, border_mode, subsample, dilation):
        return None
    window = (kernel_shape - 1) * dilation + 1
    pad = {"half": (window // 2,) * 2, "full": (window - 1,) * 2, "valid": (0, 0)}.get(border_mode) if isinstance(
        border_mode, str) else (border_mode,) * 2 if isinstance(border_mode, int) else border_mode
    if min(pad) < 0:
        raise ValueError("border_mode must be >= 0")
    return (image_shape + pad[0] + pad[1] - window) // subsample + 1


def causal_conv1d(input, filters, filter_shape, input_shape=None, subsample=1, filter_flip=True, filter_dilation=1,
                  num_groups=1, unshared=False):
    """The causal convolution of sequences (batch, channels, length): results do not depend on later elements."""
    return wrap(_nnet.conv(as_variable(input)._croton, as_variable(filters)._croton, border="causal",
                           strides=[subsample], dilations=[filter_dilation], groups=num_groups, flip=filter_flip))


def separable_conv2d(input, depthwise_filters, pointwise_filters, num_channels, input_shape=None,
                     depthwise_filter_shape=None, pointwise_filter_shape=None, border_mode="valid", subsample=(1, 1),
                     filter_flip=True, filter_dilation=(1, 1)):
    """The separable convolution: a depthwise convolution, then a pointwise (1 x 1) one."""
    depthwise = conv2d(input, depthwise_filters, None, None, border_mode, subsample, filter_flip,
                       filter_dilation=filter_dilation, num_groups=num_channels)
    return conv2d(depthwise, pointwise_filters, filter_flip=filter_flip)


def bilinear_kernel_1D(ratio, normalize=True):
    """The kernel of linear interpolation between points at distance ratio."""
    half = arrays.arange(1, ratio + 1, dtype="floatX")
    kernel = arrays.concatenate([half, half[-2::-1]])
    return kernel / cast(ratio, kernel.dtype) if normalize else kernel


def bilinear_kernel_2D(ratio, normalize=True):
    """The kernel of bilinear interpolation between points at distance ratio along both axes."""
    line = bilinear_kernel_1D(ratio, normalize)
    return line.dimshuffle("x", 0) * line.dimshuffle(0, "x")


def bilinear_upsampling(input, ratio=None, frac_ratio=None, batch_size=None, num_input_channels=None,
                        use_1D_kernel=True):
    """The images enlarged by an integer ratio, with bilinear interpolation; edges are repeated."""
    if frac_ratio is not None or ratio is None:
        raise NotImplementedError("bilinear_upsampling: ratios that are not whole numbers are not supported; the "
                                  "nearest is a whole ratio followed by pooling")
    x = as_variable(input)
    rows, columns = x.shape[2], x.shape[3]
    pad_before = pad_after = 1
    padded = arrays.concatenate([x[:, :, :pad_before], x, x[:, :, -pad_after:]], axis=2)
    padded = arrays.concatenate([padded[:, :, :, :pad_before], padded, padded[:, :, :, -pad_after:]], axis=3)
    flat = padded.reshape((-1, 1, rows + 2, columns + 2))
    kernel = bilinear_kernel_2D(ratio).astype(x.dtype).dimshuffle("x", "x", 0, 1)
    border = (2 * ratio - 1 - 1) // 2 + ratio if isinstance(ratio, int) else None
    big = conv2d_grad_wrt_inputs(flat, kernel, (None, 1, rows * ratio, columns * ratio), border_mode=border,
                                 subsample=(ratio, ratio))
    return big.reshape((x.shape[0], x.shape[1], rows * ratio, columns * ratio))


__all__ = ["conv2d", "conv3d", "conv2d_transpose", "conv2d_grad_wrt_inputs", "conv3d_grad_wrt_inputs",
           "conv2d_grad_wrt_weights", "conv3d_grad_wrt_weights", "AbstractConv2d", "AbstractConv2d_gradInputs",
           "AbstractConv2d_gradWeights", "AbstractConv3d", "AbstractConv3d_gradInputs", "AbstractConv3d_gradWeights",
           "get_conv_output_shape", "get_conv_shape_1axis", "causal_conv1d", "separable_conv2d", "bilinear_kernel_1D",
           "bilinear_kernel_2D", "bilinear_upsampling", "old_conv2d"]
