"""Convolutions, pooling and layers, against loops over the elements of windows; convolutions against SciPy's too."""

import itertools

import numpy as np
import scipy.ndimage
import scipy.signal

import croton.tensor as T

from samples import REALS, awkward, between, plain, positive, whole
from table import call, floatx, row

FLOATS = ["float64", "float32", "float16"]
SUMMED = ["float64", "float32", "float16", "int32", "int64", "int8"]
FEW = ["float64", "float32", "int8"]
# Up to some 200 products of numbers below 16. Dtypes narrower than float32 are added in it and rounded once.
NEAR = dict(ulp={"float16": 1, "float32": 200, "float64": 200}, absolute=200,
            why="the order of additions is the library's; the error grows with the window and with cancellation")


def spotted(dtype, shape, random):
    """Ordinary numbers with nan, infinities and -0 among them, or with the extremes of integers."""
    x = plain(dtype, shape, random)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return x
    special = [np.nan, np.inf, -np.inf, -0.0] if dtype.kind == "f" else [np.iinfo(dtype).max, np.iinfo(dtype).min]
    for value, at in zip(special, random.permutation(x.size)):
        x.reshape(-1)[at] = value
    return x


# --- convolutions --------------------------------------------------------------------------------------------------


def each(numbers, axes):
    """One value for each axis."""
    numbers = [numbers] if np.isscalar(numbers) else list(numbers)
    return numbers * axes if len(numbers) == 1 else numbers


def sides_of(border, sizes, window, strides, dilations):
    """(before, after) for each axis."""
    axes = len(sizes)
    if not isinstance(border, str):
        return [(side, side) if np.isscalar(side) else tuple(side) for side in each(border, axes)]
    found = []
    for n, w, s, d in zip(sizes, window, strides, dilations):
        reach = d * (w - 1)
        missing = max((-(-n // s) - 1) * s + reach + 1 - n, 0)
        found.append({"valid": (0, 0), "full": (reach, reach), "half": ((reach + 1) // 2, ) * 2, "causal": (reach, 0),
                      "same": (missing // 2, missing - missing // 2)}[border])
    return found


class Form:
    """The options applied to images of these sizes: results are in channels_first."""

    def __init__(self, sizes, window, border="valid", strides=1, dilations=1, groups=1, flip=True,
                 layout="channels_first"):
        axes = len(sizes)
        self.strides, self.dilations = each(strides, axes), each(dilations, axes)
        self.sides = sides_of(border, sizes, window, self.strides, self.dilations)
        self.window, self.groups, self.flip = window, groups, flip
        self.counts = [(n + b + a - d * (w - 1) - 1) // s + 1 for n, (b, a), w, s, d in zip(
            sizes, self.sides, window, self.strides, self.dilations)]

    def taps(self):
        """For each tap: its position in the filters, and the elements of the padded image that it multiplies."""
        for tap in np.ndindex(*self.window):
            place = tuple(w - 1 - k for w, k in zip(self.window, tap)) if self.flip else tap
            yield (..., *place), (..., *(slice(d * k, d * k + s * (count - 1) + 1 if count else d * k, s)
                                         for k, s, d, count in zip(tap, self.strides, self.dilations, self.counts)))

    def shares(self, results, channels):
        """The results and the channels of each group."""
        for g in range(self.groups):
            yield [slice(g * n // self.groups, (g + 1) * n // self.groups) for n in (results, channels)]


def first(x, layout):
    """Images in channels_first."""
    return np.moveaxis(x, -1, 1) if layout == "channels_last" else x


def of_layout(x, layout):
    return np.moveaxis(x, 1, -1) if layout == "channels_last" else x


def first_filters(f, layout):
    return np.moveaxis(f, (-1, -2), (0, 1)) if layout == "channels_last" else f


def conv(x, f, layout="channels_first", **options):
    x, f = first(x, layout), first_filters(f, layout)
    form = Form(x.shape[2:], f.shape[2:], **options)
    padded = np.pad(x, [(0, 0), (0, 0), *form.sides])
    out = np.zeros((len(x), len(f), *form.counts), np.result_type(x, f))
    for place, under in form.taps():
        for results, channels in form.shares(len(f), x.shape[1]):
            out[:, results] += np.einsum("bc...,oc->bo...", padded[:, channels][under], f[results][place])
    return of_layout(out, layout)


def conv_transpose(g, f, sizes=None, layout="channels_first", border="valid", strides=1, **options):
    """Adds the filters to the image for each number of g, times that number."""
    g, f = first(g, layout), first_filters(f, layout)
    steps, reach = each(strides, g.ndim - 2), each(options.get("dilations", 1), g.ndim - 2)
    if sizes is None and border == "same":
        sizes = [s * n for s, n in zip(steps, g.shape[2:])]
    elif sizes is None:
        sides = sides_of(border, f.shape[2:], f.shape[2:], steps, reach)
        sizes = [s * (n - 1) + d * (w - 1) + 1 - b - a for s, n, d, w, (b, a) in zip(
            steps, g.shape[2:], reach, f.shape[2:], sides)]
    form = Form(sizes, f.shape[2:], border, strides, **options)
    padded = np.zeros((len(g), f.shape[1] * form.groups, *(n + b + a for n, (b, a) in zip(sizes, form.sides))),
                      np.result_type(g, f))
    for place, under in form.taps():
        for results, channels in form.shares(len(f), padded.shape[1]):
            padded[:, channels][under] += np.einsum("bo...,oc->bc...", g[:, results], f[results][place])
    image = padded[(..., *(slice(b, b + n) for n, (b, _) in zip(sizes, form.sides)))]
    return of_layout(image, layout)


def conv_filter_gradient(x, g, window, layout="channels_first", **options):
    x, g = first(x, layout), first(g, layout)
    form = Form(x.shape[2:], window, **options)
    padded = np.pad(x, [(0, 0), (0, 0), *form.sides])
    out = np.zeros((g.shape[1], x.shape[1] // form.groups, *window), np.result_type(x, g))
    summed = [0, *range(2, g.ndim)]
    for place, under in form.taps():
        for results, channels in form.shares(g.shape[1], x.shape[1]):
            out[results][place] = np.tensordot(g[:, results], padded[:, channels][under], (summed, summed))
    return np.moveaxis(out, (0, 1), (-1, -2)) if layout == "channels_last" else out


def by_scipy(x, f, border="valid", flip=True):
    mode = {"valid": "valid", "full": "full", "half": "same"}[border]
    over = scipy.signal.convolve if flip else scipy.signal.correlate
    return np.stack([np.stack([sum(over(image[c], filters[c], mode, "direct") for c in range(len(filters)))
                               for filters in f]) for image in x])


def x_and_f(x, f):
    return np.ones(x), np.ones(f)


IMAGES, SHORT = np.ones((2, 2, 5, 5)), np.ones((2, 2, 5))
CONV_REFUSALS = [(x_and_f((2, 5), (3, 5)), call()), (x_and_f((2, 2, 5), (3, 2, 2, 2)), call()),
                 (x_and_f((2, 2, 5), (3, 3, 2)), call()), (x_and_f((2, 2, 2), (3, 2, 3)), call()),
                 (x_and_f((2, 2, 4), (3, 2, 3)), call(dilations=2)), (x_and_f((2, 3, 5), (4, 1, 2)), call(groups=2)),
                 (x_and_f((2, 4, 5), (3, 2, 2)), call(groups=2)), ([SHORT.astype(bool)] * 2, call()),
                 ([SHORT.astype("complex64")] * 2, call())]
CONV_REFUSALS += [([SHORT, SHORT], call(**options)) for options in (
    dict(strides=0), dict(strides=(1, 1)), dict(strides=1.5), dict(dilations=0), dict(dilations=[1, 2]), dict(groups=0),
    dict(border="valdi"), dict(border=-1), dict(border=(1, 1)), dict(border=[(1, 1, 1)]), dict(border=1.0),
    dict(layout="NCHW"))]
BORDERS = ["valid", "full", "half", "same", "causal", 1]
LINES = (((2, 3, 9), (4, 3, 3)), ((0, 3, 5), (2, 3, 2)), ((1, 1, 1), (1, 1, 1)), ((2, 1, 4), (1, 1, 4)))
PLANES = (((2, 3, 7, 6), (4, 3, 3, 2)), ((0, 3, 5, 5), (2, 3, 2, 2)), ((1, 1, 1, 1), (1, 1, 1, 1)),
          ((2, 0, 4, 4), (3, 0, 2, 2)), ((2, 2, 4, 5), (0, 2, 1, 3)))
SOLIDS = (((2, 2, 4, 5, 4), (3, 2, 2, 3, 2)), ((1, 1, 1, 1, 1), (1, 1, 1, 1, 1)))
row("nnet.conv1d nnet.conv", conv, plain, plain, shapes=LINES, dtypes=SUMMED,
    calls=[call()] + [call(border=b, strides=2) for b in BORDERS] +
    [call(flip=False), call(border=[(1, 2)], dilations=1), call(border="causal", flip=False)], **NEAR,
    refusals=CONV_REFUSALS)
row("nnet.conv1d nnet.conv", conv, plain, plain, shapes=(((2, 3, 12), (4, 3, 3)), ((1, 1, 1), (1, 1, 1))), dtypes=FEW,
    calls=[call(border=b, dilations=3, strides=s) for b in BORDERS for s in (1, 4)], own=True, **NEAR)
row("nnet.conv2d nnet.conv", conv, plain, plain, shapes=PLANES, dtypes=SUMMED,
    calls=[call()] + [call(border=b) for b in BORDERS[1:]] +
    [call(flip=False), call(strides=2), call(strides=(2, 1), border=(0, 2)), call(border=[(1, 0), (2, 3)])], **NEAR)
row("nnet.conv2d", conv, plain, plain, shapes=(((2, 3, 8, 9), (4, 3, 3, 2)), ((1, 1, 1, 1), (1, 1, 1, 1))), dtypes=FEW,
    calls=[call(border=b, strides=(1, 3), dilations=(2, 1), flip=f) for b in BORDERS for f in (True, False)], own=True,
    **NEAR)
row("nnet.conv3d nnet.conv", conv, plain, plain, shapes=SOLIDS, dtypes=["float64", "float32", "int32"],
    calls=[call()] + [call(border=b, strides=(2, 1, 1), flip=False) for b in BORDERS[1:]] +
    [call(border=[(1, 2), (0, 1), (3, 0)], dilations=(1, 1, 3))], **NEAR)
row("nnet.conv", conv, plain, plain, shapes=(((1, 2, 3, 3, 2, 3), (2, 2, 2, 2, 1, 2)), ), dtypes=["float64", "float32"],
    calls=[call(), call(border="full", strides=2)], own=True, **NEAR)
GROUPED = (((2, 4, 6, 5), (6, 2, 3, 2)), ((0, 2, 4, 4), (2, 1, 2, 1)), ((1, 4, 1, 1), (2, 2, 1, 1)))
row("nnet.conv2d", conv, plain, plain, shapes=GROUPED, dtypes=SUMMED, calls=[
    call(groups=2), call(groups=2, border="half", strides=2),
    call(groups=2, border="same", flip=False, dilations=(1, 2))], own=True, **NEAR)
row("nnet.conv2d", conv, plain, plain, shapes=(((2, 3, 6, 5), (6, 1, 3, 3)), ((1, 3, 1, 1), (3, 1, 1, 1))),
    dtypes=FEW, calls=[call(groups=3), call(groups=3, border="full"), call(groups=3, border=1, strides=2)], own=True,
    **NEAR)
LAST = [call(layout="channels_last", **options) for options in (
    dict(), dict(border="same", strides=2), dict(border="full", flip=False), dict(border="half", dilations=(1, 2)),
    dict(border=[(0, 1), (2, 0)]))]
row("nnet.conv2d", conv, plain, plain, shapes=(((2, 7, 6, 3), (3, 2, 3, 4)), ((0, 5, 5, 3), (2, 2, 3, 2)),
                                               ((1, 1, 1, 1), (1, 1, 1, 1))), dtypes=SUMMED, calls=LAST, own=True,
    **NEAR)
row("nnet.conv2d", conv, plain, plain, shapes=(((2, 6, 5, 4), (3, 2, 2, 6)), ((1, 1, 1, 4), (1, 1, 2, 2))), dtypes=FEW,
    calls=[call(groups=2, **c.kwargs) for c in LAST], own=True, **NEAR)
row("nnet.conv1d", conv, plain, plain, shapes=(((2, 7, 3), (3, 3, 4)), ((1, 1, 1), (1, 1, 1))), dtypes=FEW,
    calls=[call(layout="channels_last", border=b) for b in BORDERS], own=True, **NEAR)
row("nnet.conv3d", conv, plain, plain, shapes=(((1, 4, 3, 3, 2), (2, 2, 1, 2, 3)), ), dtypes=["float32"],
    calls=[call(layout="channels_last"), call(layout="channels_last", border="same", strides=2)], own=True, **NEAR)
# Windows with few elements, if their number is known, are sums in the kernel; larger ones are products of matrices.
for layout, shapes in (("channels_first", ((2, 2, 6, 5), (3, 2, 3, 2))),
                       ("channels_last", ((2, 6, 5, 2), (3, 2, 2, 3)))):
    row("nnet.conv2d", conv, plain, plain, shapes=(shapes, ), dtypes=SUMMED, own=True,
        calls=[call(layout=layout, border=b, strides=s) for b in ("valid", "half", "same") for s in (1, 2)],
        build=lambda f, x, w, *, known=shapes[1], **o: f(x, T.specify_shape(w, known), **o), **NEAR)
    row("nnet.conv2d", conv, plain, plain, shapes=(shapes, ), dtypes=FEW, own=True,
        calls=[call(layout=layout, border=b) for b in BORDERS],
        build=lambda f, x, w, *, known=shapes, **o: f(T.specify_shape(x, known[0]), T.specify_shape(w, known[1]), **o),
        **NEAR)
row("nnet.conv2d", conv, plain, plain, shapes=(((2, 33, 5, 6), (19, 33, 3, 3)), ), dtypes=["float32"], own=True,
    calls=[call(border="half", flip=False), call(layout="channels_first", strides=2)],
    **(NEAR | dict(ulp=1000, absolute=2000, why="as above, of 297 products")))
# Widths that are known only in the call.
row("nnet.conv2d", lambda x, f, b, **o: conv(x, f, border=[b.tolist(), int(b[1])], **o), plain, plain,
    whole(0, 3, role="widths"), dtypes=FEW, calls=[call(), call(strides=2)],
    shapes=(((2, 2, 5, 6), (3, 2, 3, 2), (2, )), ((1, 1, 1, 1), (1, 1, 1, 1), (2, ))),
    build=lambda f, x, w, b, **o: f(x, w, border=[(T.cast(b[0], "int64"), b[1]), b[1]], **o),
    refusals=[([IMAGES, IMAGES, np.array([1.0, 0.0])], call())], **NEAR)
# nan and infinities have the same products; outside the image there are zeros, which an infinite filter makes nan.
for draws in ((spotted, plain), (plain, spotted)):
    row("nnet.conv2d", conv, *draws, shapes=(((2, 3, 7, 6), (4, 3, 3, 2)), ), dtypes=FEW, own=True,
        calls=[call(border=b) for b in BORDERS] + [call(border="half", strides=2, dilations=2)], **NEAR)
# SciPy's convolutions as references.
row("nnet.conv1d nnet.conv", by_scipy, plain, plain, shapes=(((2, 3, 9), (4, 3, 3)), ((1, 1, 5), (1, 1, 5))),
    dtypes=["float64", "float32", "int32"], calls=[call(border=b, flip=f) for b in ("valid", "full", "half")
                                                   for f in (True, False)], own=True, **NEAR)
row("nnet.conv2d nnet.conv", by_scipy, plain, plain, shapes=(((2, 3, 7, 6), (2, 3, 3, 5)), ),
    dtypes=["float64", "float32", "int32"], calls=[call(border=b, flip=f) for b in ("valid", "full", "half")
                                                   for f in (True, False)], own=True, **NEAR)
row("nnet.conv3d", by_scipy, plain, plain, shapes=(((1, 2, 4, 5, 4), (2, 2, 3, 3, 1)), ), dtypes=["float32"],
    calls=[call(border=b) for b in ("valid", "full", "half")], own=True, **NEAR)
for name, x, others in (("conv1d", (2, 2, 5), (2, 2, 5, 5)), ("conv2d", (2, 2, 5, 5), (2, 2, 5)),
                        ("conv3d", (2, 2, 3, 3, 3), (2, 2, 5, 5))):
    row("nnet." + name, conv, plain, plain, shapes=((x, x), ), dtypes=["float32"], own=True, **NEAR,
        refusals=[(x_and_f(others, others), call()), (x_and_f(x, others), call()), (x_and_f(x, x), call(strides=0))])

# The gradients of a convolution; each case: images, filters, options.
BACK = [((2, 3, 9), (4, 3, 3), dict(), SUMMED), ((1, 1, 1), (1, 1, 1), dict(border="full"), FEW),
        ((0, 3, 9), (4, 3, 2), dict(strides=2), FEW), ((2, 3, 10), (4, 3, 3), dict(border="causal", strides=3), FEW),
        ((2, 2, 6), (3, 2, 3), dict(border=[(2, 1)], dilations=2, flip=False), FEW),
        ((2, 3, 7, 6), (4, 3, 3, 2), dict(), SUMMED), ((2, 3, 7, 6), (4, 3, 3, 2), dict(border="half", strides=2), FEW),
        ((2, 2, 8, 7), (3, 2, 3, 2), dict(border="same", strides=(3, 2)), FEW),
        ((2, 2, 8, 9), (3, 2, 3, 2), dict(border=1, strides=(1, 3), dilations=(2, 1), flip=False), FEW),
        ((2, 4, 6, 5), (6, 2, 3, 2), dict(groups=2, strides=(2, 1)), FEW),
        ((2, 3, 6, 5), (6, 1, 3, 3), dict(groups=3, border="full"), FEW),
        ((2, 6, 5, 4), (3, 2, 2, 6), dict(groups=2, border="same", strides=2, layout="channels_last"), FEW),
        ((2, 6, 5, 3), (3, 2, 3, 4), dict(flip=False, border="half", layout="channels_last"), SUMMED),
        ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), dict(border="full", strides=2), ["float64", "float32"])]
ZEROS = {"float32": "around g and between its strides there are zeros, which an infinite filter makes nan"}
for at, (image, filters, options, dtypes) in enumerate(BACK):
    laid = conv(np.ones(image), np.ones(filters), **options).shape
    last = options.get("layout") == "channels_last"
    sizes, window = (image[1:-1], filters[:-2]) if last else (image[2:], filters[2:])
    own = bool(at)
    smallest = [call(**options)] if conv_transpose(np.ones(laid), np.ones(filters), **options).size else []
    row("nnet.conv_transpose", conv_transpose, plain, plain, shapes=((laid, filters), ), dtypes=dtypes, own=own,
        calls=smallest + [call(sizes, **options)], special=ZEROS, **NEAR)
    row("nnet.conv_filter_gradient", conv_filter_gradient, plain, plain, shapes=((image, laid), ), dtypes=dtypes,
        own=own, calls=[call(window, **options)], **NEAR)
row("nnet.conv_transpose", conv_transpose, spotted, plain, shapes=(((2, 4, 5, 4), (4, 3, 3, 2)), ), own=True,
    dtypes=["float64", "float32", "int8"], calls=[call(), call(border="half"), call(strides=2)], **NEAR,
    refusals=[([SHORT, np.ones((2, 3, 3))], call(sizes=s, **o)) for s, o in (
        ([9], {}), ([7, 7], {}), ([7.0], {}), (None, dict(strides=0)), (None, dict(border="most")),
        (None, dict(groups=3)), ([9], dict(strides=2)))] + [
            (x_and_f((2, 3, 5), (2, 3, 3)), call()), (x_and_f((2, 5), (2, 5)), call()),
            ([SHORT.astype(bool)] * 2, call()), ([SHORT, IMAGES], call())])
row("nnet.conv_filter_gradient", conv_filter_gradient, spotted, plain, shapes=(((2, 3, 7, 6), (2, 4, 5, 5)), ),
    own=True, dtypes=["float64", "float32", "int8"], calls=[call((3, 2)), call([5, 4], border=1)], **NEAR,
    refusals=[([SHORT, SHORT], call(w, **o)) for w, o in (
        ([2], {}), ([1, 1], {}), ([6], {}), ([1.0], {}), ([1], dict(strides=0)), ([1], dict(groups=3)),
        ([1], dict(layout="last")))] + [([IMAGES, SHORT], call([1, 1])), ([SHORT, np.ones((3, 2, 5))], call([1])),
                                        ([SHORT.astype("complex64")] * 2, call([1]))])

# --- pooling -------------------------------------------------------------------------------------------------------


def starts(n, window, stride, before, after, ignore_border):
    """The starts of the windows of an axis."""
    if ignore_border:
        return range(-before, n + after - window + 1, stride)
    found = [0] if n else []
    while found and found[-1] + window < n and found[-1] + stride < n:
        found.append(found[-1] + stride)
    return found


def windows_of(x, window, strides, border, ignore_border):
    """For each window over the last axes: its position in the result, and the slices of x. Also the result's sizes."""
    window = each(window, 1)
    axes = len(window)
    strides = window if strides is None else each(strides, axes)
    sides = sides_of(border, x.shape[-axes:], window, strides, [1] * axes)
    begin = [list(starts(n, w, s, b, a, ignore_border)) for n, w, s, (b, a) in zip(
        x.shape[-axes:], window, strides, sides)]
    slices = [[slice(max(i, 0), max(i + w, 0)) for i in some] for some, w in zip(begin, window)]
    places = itertools.product(*(range(len(some)) for some in begin))
    return zip(places, itertools.product(*slices)), [len(some) for some in begin], window


def lowest(dtype):
    return {"f": lambda: -np.inf, "b": lambda: False}.get(dtype.kind, lambda: np.iinfo(dtype).min)()


def pool(x, window, strides=None, border="valid", mode="max", ignore_border=True, layout="channels_first", ties="all"):
    last = layout == "channels_last"
    x = np.moveaxis(x, -1, 0) if last else x
    windows, counts, window = windows_of(x, window, strides, border, ignore_border)
    axes = tuple(range(-len(window), 0))
    out = np.zeros((*x.shape[:x.ndim - len(window)], *counts), x.dtype)
    for place, inside in windows:
        part = x[(..., *inside)]
        if mode == "max":
            value = part.max(axes, initial=lowest(x.dtype))
        else:
            value = part.sum(axes, dtype=x.dtype)
        if mode.startswith("average"):
            partly = mode == "average_exc_pad" or not ignore_border
            value = value / np.prod(part.shape[part.ndim - len(window):] if partly else window)
        out[(..., *place)] = value
    return np.moveaxis(out, 0, -1) if last else out


def pool_slope(x, window, strides=None, border="valid", ignore_border=True, ties="all"):
    """The gradient of the sum of all maxima."""
    out = np.zeros_like(x)
    windows, _, window = windows_of(x, window, strides, border, ignore_border)
    for _, inside in windows:
        for lead in np.ndindex(*x.shape[:x.ndim - len(window)]):
            part, slope = x[lead][inside], out[lead][inside]
            where = np.argwhere(part == part.max()) if part.size else []
            for at in where[:1] if ties == "first" else where:
                slope[tuple(at)] += 1
    return out


def with_equal_ones(dtype, shape, random):
    return random.integers(-1, 2, shape).astype(dtype)


POOLED = (((2, 3, 7, 6), ), ((0, 3, 5, 5), ), ((1, 1, 3, 3), ), ((2, 0, 4, 5), ))
LARGEST = [call((2, 3)), call((2, 2), strides=1), call((3, 2), strides=(2, 3)), call([3, 3], border="half", strides=2),
           call((2, 2), border=1), call((3, 2), border="full"), call((3, 2), border="same", strides=2),
           call((2, 3), border=[(1, 0), (0, 2)]), call((2, 2), border="causal"), call((1, 1))]
OVER = [call((2, 4), ignore_border=False), call((3, 2), strides=(2, 3), ignore_border=False),
        call((3, 3), strides=1, ignore_border=False), call((2, 2), strides=(5, 3), ignore_border=False)]
MEANS = dict(result=floatx, absolute=8, ulp={"float16": 1, "float32": 8, "float64": 8},
             why="the order of additions is the library's")
SUMS = dict(absolute=64, ulp={"float16": 1, "float32": 8, "float64": 8}, why="the order of additions is the library's")
MIXED = FLOATS + ["int32", "int8", "bool"]
# Windows that are entirely in the border: -inf, and no mean.
FAR = [call((2, 2), border=3), call((2, 1), border=[(4, 0), (0, 2)], strides=1)]


def of_mode(calls, mode):
    return [call(*c.args, **c.kwargs, mode=mode) for c in calls]


EMPTY = (((2, 0, 0), ), ((1, 0, 3), ), ((1, 2, 0), ))
row("nnet.pool", pool, spotted, shapes=POOLED, dtypes=MIXED[:-1], calls=LARGEST, refusals=[
    ([IMAGES], call((6, 1))), ([IMAGES], call((0, 1))), ([IMAGES], call(())), ([IMAGES], call((1, ) * 5)),
    ([IMAGES], call((2, 2), strides=0)), ([IMAGES], call((2, 2), strides=(1, 1, 1))), ([IMAGES], call((2.0, 2))),
    ([IMAGES], call((2, 2), border=1, ignore_border=False)), ([IMAGES], call((2, 2), border=-1)),
    ([IMAGES], call((2, 2), mode="average")), ([IMAGES], call((2, 2), ties="last")),
    ([IMAGES], call((2, 2), layout="C")), ([IMAGES], call((1, ) * 4, layout="channels_last")),
    ([IMAGES.astype("complex64")], call((2, 2)))])
row("nnet.pool", pool, spotted, shapes=POOLED, dtypes=["float64", "float32", "int8"], calls=OVER + FAR, own=True)
row("nnet.pool", pool, with_equal_ones, shapes=POOLED, dtypes=FLOATS + ["int32", "uint8", "bool"],
    calls=[call(*c.args, **c.kwargs, ties="first") for c in LARGEST[:4] + OVER])
row("nnet.pool", pool, plain, shapes=POOLED, dtypes=MIXED, calls=of_mode(LARGEST[:7] + OVER[:2] + FAR[:1], "sum"),
    **SUMS)
for mode in ("average_inc_pad", "average_exc_pad"):
    row("nnet.pool", pool, plain, shapes=POOLED, dtypes=MIXED, calls=of_mode(LARGEST[:8] + OVER[:2], mode), **MEANS)
    row("nnet.pool", pool, plain, shapes=POOLED, dtypes=["float64", "float32"], own=True,
        calls=of_mode(OVER[2:] + FAR, mode), **MEANS)
# The sum exceeds the range of float16.
row("nnet.pool", pool, between(900, 1000), shapes=(((1, 1, 12, 12), ), ), dtypes=["float16"], own=True,
    calls=of_mode([call((12, 12))], "average_inc_pad"), **MEANS)
row("nnet.pool", pool, plain, shapes=EMPTY, dtypes=["float32", "int32"], own=True, layouts=False,
    calls=[call((2, 2), ignore_border=False), call((2, 2), strides=1, ignore_border=False),
           call((2, 2), ignore_border=False, ties="first"), call((2, 3), ignore_border=False, mode="sum")])
# Other numbers of axes, and channels last.
row("nnet.pool", pool, spotted, shapes=(((11, ), ), ((3, ), )), dtypes=["float64", "float32", "int8"], own=True,
    calls=[call(3), call((2, ), strides=1), call(3, strides=2, ignore_border=False), call(3, border=1)])
row("nnet.pool", pool, plain, shapes=(((2, 3, 4, 5, 4), ), ((1, 1, 2, 2, 2), )), dtypes=["float64", "float32"],
    own=True, calls=of_mode([call((2, 2, 2)), call((2, 1, 2), strides=1, border=[0, 1, (1, 0)])], "average_exc_pad") +
    [call((2, 2, 2), strides=(1, 2, 3), ignore_border=False)], **MEANS)
row("nnet.pool", pool, plain, shapes=(((2, 7, 6, 3), ), ((0, 4, 4, 2), )), dtypes=["float64", "float32"], own=True,
    calls=[call(*c.args, **c.kwargs, mode=mode, layout="channels_last") for c in (LARGEST[0], LARGEST[3], LARGEST[6])
           for mode in ("max", "sum", "average_exc_pad")], **SUMS)
# The gradient of a maximum at ties.
for ties in ("all", "first"):
    row("nnet.pool", pool_slope, with_equal_ones, shapes=POOLED[:3], dtypes=FLOATS, own=True,
        calls=[call(*c.args, **c.kwargs, ties=ties) for c in LARGEST[:5] + OVER],
        build=lambda f, x, *a, **o: T.grad(T.sum(f(x, *a, **o)), x))

# --- layers --------------------------------------------------------------------------------------------------------
# Of integers floatX.
NORM = dict(dtypes=["float64", "float32"], result=floatx, ulp=64, absolute=64, coarse=16,
            why="differences from a mean, divided by a deviation; in 16 bits each step is rounded")


def axes_of(x, axes):
    return tuple(a for a in range(x.ndim) if a != 1) if axes is None else tuple(a % x.ndim for a in axes)


def batch_norm_test(x, gamma, beta, mean, variance, axes=None, epsilon=1e-4):
    gamma, beta, mean, variance = (p if p.ndim == x.ndim else np.expand_dims(p, axes_of(x, axes))
                                   for p in (gamma, beta, mean, variance))
    return gamma * (x - mean) / np.sqrt(variance + np.longdouble(epsilon)) + beta


def batch_norm_train(x, gamma, beta, running_mean=None, running_variance=None, axes=None, epsilon=1e-4,
                     running_average_factor=0.1):
    over, f = axes_of(x, axes), np.longdouble(running_average_factor)
    mean, variance = x.mean(over, keepdims=True), x.var(over, keepdims=True)
    results = [batch_norm_test(x, gamma, beta, mean, variance, axes, epsilon), mean.reshape(gamma.shape),
               (1 / np.sqrt(variance + np.longdouble(epsilon))).reshape(gamma.shape)]
    if running_mean is not None:
        results.append((1 - f) * running_mean + f * mean.reshape(running_mean.shape))
    if running_variance is not None:
        count = np.prod([x.shape[a] for a in over])
        unbiased = variance * count / max(count - 1, 1)
        results.append((1 - f) * running_variance + f * unbiased.reshape(running_variance.shape))
    return results


BATCH = np.ones((2, 3, 4))
BATCH_REFUSALS = [(np.ones((2, 3)), call()), (np.ones((1, 3, 2)), call()), (np.ones(4), call()),
                  (np.ones(3), call(axes=[3])), (np.ones(3), call(axes=[])), (np.ones(3, "complex64"), call())]
for at, (x, parameter, options) in enumerate([
        ((4, 3, 5, 2), (3, ), dict()), ((4, 3, 5, 2), (1, 3, 1, 1), dict()), ((6, 5), (5, ), dict()),
        ((1, 5), (5, ), dict()), ((0, 3, 2), (3, ), dict()), ((4, 3, 2), (3, 2), dict(axes=[0])),
        ((4, 3, 5), (4, ), dict(axes=(-1, 1))), ((7, 3), (), dict(axes=[0, 1])), ((7, ), (), dict())]):
    # With gamma and running averages in both forms, if there are two.
    full = tuple(1 if a in axes_of(np.empty(x), options.get("axes")) else n for a, n in enumerate(x))
    calls = [call(**options), call(epsilon=0.5, **options)] if x != (7, ) else [call(axes=[0])]
    refusals = [] if at else [([BATCH] + [p] * 2, c) for p, c in BATCH_REFUSALS]
    row("nnet.batch_norm_train", batch_norm_train, plain, plain, plain, shapes=((x, parameter, parameter), ),
        calls=calls, own=at > 0, refusals=refusals, **NORM)
    row("nnet.batch_norm_train", batch_norm_train, plain, plain, plain, plain, positive, own=at > 0,
        shapes=((x, parameter, full, full, parameter), ), calls=calls + [call(running_average_factor=0.25, **c.kwargs)
                                                                        for c in calls],
        build=lambda f, x, g, b, m, v, **o: f(x, g, b, running_mean=m, running_variance=v, **o),
        refusals=[] if at else [([BATCH] + [np.ones(3)] * 2 + [np.ones((3, 1))] * 2, call())], **NORM)
    row("nnet.batch_norm_test", batch_norm_test, plain, plain, plain, plain, positive, calls=calls, own=at > 0,
        shapes=((x, ) + (parameter, full) * 2, ), refusals=[(a + [BATCH[0, :, 0]] * 2, c) for a, c in refusals], **NORM)
row("nnet.batch_norm_train", lambda x, g, b, v: batch_norm_train(x, g, b, None, v), plain, plain, plain, positive,
    shapes=(((4, 3), (3, ), (3, ), (3, )), ), build=lambda f, x, g, b, v: f(x, g, b, running_variance=v), own=True,
    **NORM)


# Squares above the range of float16.
row("nnet.batch_norm_train", batch_norm_train, between(-900, 900), plain, plain, own=True,
    shapes=(((4, 3), (3, ), (3, )), ), **(NORM | dict(dtypes=["float16"])))


def group_norm(x, groups, gamma=None, beta=None, epsilon=1e-5, layout="channels_first"):
    x = first(x, layout)
    cut = x.reshape(len(x), groups, -1) if x.size else x
    cut = cut - cut.mean(-1, keepdims=True)
    out = (cut / np.sqrt((cut**2).mean(-1, keepdims=True) + np.longdouble(epsilon))).reshape(x.shape)
    over = (slice(None), ) + (None, ) * (x.ndim - 2)
    out = out if gamma is None else out * gamma[over]
    return of_layout(out if beta is None else out + beta[over], layout)


def instance_norm(x, gamma=None, beta=None, layout="channels_first", **options):
    return group_norm(x, first(x, layout).shape[1], gamma, beta, layout=layout, **options)


row("nnet.group_norm", group_norm, between(-900, 900), shapes=(((2, 4, 3), ), ), calls=[call(2)], own=True,
    **(NORM | dict(dtypes=["float16"])))
ONE, TWO, THREE = np.ones(3), np.ones((2, 4)), np.ones((2, 4, 3))  # axes
CHANNELS = (((2, 4, 3, 2), ), ((0, 4, 2, 2), ), ((1, 2, 1, 1), ))
row("nnet.group_norm", group_norm, plain, shapes=CHANNELS, calls=[call(2), call(1), call(2, epsilon=0.5)],
    refusals=[([TWO], call(3)), ([TWO], call(0)), ([ONE], call(1)), ([TWO], call(2, layout="last")),
              ([TWO.astype("complex64")], call(2)), ([TWO], call(2, np.ones((4, 1)))), ([TWO], call(2, np.ones(3)))],
    **NORM)
row("nnet.group_norm", group_norm, plain, shapes=(((5, 6), ), ((1, 1), )), calls=[call(1)], own=True, **NORM)
row("nnet.group_norm", group_norm, plain, shapes=(((2, 3, 2, 4), ), ), own=True,
    calls=[call(n, layout="channels_last") for n in (1, 2, 4)], **NORM)
row("nnet.group_norm", lambda x, g, b, n: group_norm(x, n, g, b), plain, plain, plain, calls=[call(2), call(4)],
    shapes=(((2, 4, 3), (4, ), (4, )), ), build=lambda f, x, g, b, n: f(x, n, g, b), **NORM)
row("nnet.group_norm", lambda x, b: group_norm(x, 2, None, b, layout="channels_last"), plain, plain, own=True,
    shapes=(((2, 3, 4), (4, )), ), build=lambda f, x, b: f(x, 2, beta=b, layout="channels_last"), **NORM)
row("nnet.instance_norm", instance_norm, plain, shapes=CHANNELS[:2], calls=[call(), call(epsilon=0.5),
                                                                           call(layout="channels_last")],
    refusals=[([TWO], call()), ([THREE], call(np.ones((4, 1)))), ([THREE], call(np.ones(3))),
              ([THREE.astype("complex64")], call())], **NORM)
row("nnet.instance_norm", instance_norm, plain, plain, plain, shapes=(((2, 4, 3), (4, ), (4, )), ), **NORM)


def local_response_norm(x, size=5, alpha=1e-4, beta=0.75, bias=2.0, layout="channels_first"):
    x = first(x, layout)
    squares = [(x[:, max(c - size // 2, 0):c - size // 2 + size]**2).sum(1) for c in range(x.shape[1])]
    scale = np.longdouble(bias) + np.longdouble(alpha) * np.stack(squares, 1)
    return of_layout(x / scale**np.longdouble(beta), layout)


row("nnet.local_response_norm", local_response_norm, plain,
    shapes=(((2, 7, 3, 2), ), ((1, 1, 1, 1), ), ((0, 3, 2, 2), )),
    calls=[call(), call(size=4, alpha=0.5, beta=0.5, bias=1.0), call(size=1, alpha=1.0), call(size=20, alpha=0.25),
           call(alpha=0.125, layout="channels_last")], dtypes=["float64", "float32"], result=floatx, ulp=16, absolute=8,
    coarse=4, why="a sum and a power; in 16 bits each step is rounded", refusals=[
        ([TWO], call(size=0)), ([ONE], call()), ([TWO], call(layout="last")), ([TWO.astype("complex64")], call())])

# Squares above the range of float16.
row("nnet.local_response_norm", local_response_norm, between(-900, 900), shapes=(((2, 3), ), ), dtypes=["float16"],
    result=floatx, ulp=1, own=True, why="rounded once")

row("nnet.embedding", lambda table, positions: table[positions], awkward, whole(-4, 3), dtypes=REALS,
    shapes=(((4, 3), (2, 5)), ((5, 0), (1, 1)), ((4, 1), (0, 2))),
    refusals=[([np.ones((4, 3)), np.array(at)], call()) for at in (4, -5, 1.0, True)] +
    [([np.ones(()), np.array(0)], call()), ([np.ones((0, 3)), np.array(0)], call())])
row("nnet.embedding", lambda table, positions: table[positions], awkward, whole(-4, 3), dtypes=["float32", "int8"],
    shapes=(((4, ), (3, )), ((4, ), (0, ))), own=True)
row("nnet.embedding", lambda table, positions: table[positions], awkward, whole(-4, 3), dtypes=["float32"],
    shapes=(((4, 2, 3), ()), ), own=True)


def upsample(x, factors, interpolation="nearest", layout="channels_first"):
    x = first(x, layout)
    for axis, factor in enumerate(each(factors, x.ndim - 2), 2):
        if interpolation == "nearest":
            x = np.repeat(x, factor, axis)
            continue
        last = x.shape[axis] - 1
        place = (np.arange(x.shape[axis] * factor) + np.longdouble(0.5)) / factor - 0.5
        share = (place - np.floor(place)).reshape(-1, *(1, ) * (x.ndim - 1 - axis))
        low, high = (np.clip(np.floor(place).astype(int) + more, 0, last) for more in (0, 1))
        x = x.take(low, axis) * (1 - share) + x.take(high, axis) * share if factor != 1 else x
    return of_layout(x, layout)


def zoomed(x, factors, interpolation):
    return scipy.ndimage.zoom(x, (1, 1, *factors), order=1, mode="nearest", grid_mode=True)


SIZES = (((2, 3, 4, 5), ), ((0, 1, 2, 2), ), ((1, 1, 1, 1), ), ((2, 3, 0, 4), ))
row("nnet.upsample", upsample, awkward, shapes=SIZES, dtypes=REALS,
    calls=[call(2), call((3, 1)), call([1, 2], layout="channels_last"), call(1)],
    refusals=[([SHORT], call(0)), ([SHORT], call((2, 2))), ([TWO], call(2)), ([SHORT], call(1.5)),
              ([SHORT], call(2, interpolation="cubic")), ([SHORT], call(2, layout="last")),
              ([SHORT.astype("complex64")], call(2, interpolation="linear"))])
row("nnet.upsample", upsample, awkward, shapes=(((2, 3, 7), ), ), dtypes=["float32"], calls=[call(3)], own=True)
LINEAR = dict(dtypes=FLOATS, result=floatx, ulp=8, absolute=16, coarse=16,
              why="two products and a sum for each axis; in 16 bits each step is rounded")
ENLARGED = [call(*factors, interpolation="linear") for factors in ((2, ), ((3, 2), ), ([1, 4], ), (1, ))]
row("nnet.upsample", upsample, plain, shapes=SIZES, **LINEAR,
    calls=ENLARGED + [call(3, interpolation="linear", layout="channels_last")])
row("nnet.upsample", upsample, plain, shapes=(((1, 1, 2500), ), ((2, 2, 3), )), calls=ENLARGED[:1], own=True, **LINEAR)
row("nnet.upsample", zoomed, plain, shapes=SIZES[:1], calls=ENLARGED[1:3], own=True,
    wide=False, **(LINEAR | dict(dtypes=["float64", "float32"])))
