"""Constants, inputs, reductions, shapes and what puts arrays together: theano.tensor's functions."""

import builtins

import numpy

from croton import _croton

from .. import types
from ..configuration import config
from ..variables import (AsTensorError, TensorConstant, TensorVariable, Variable, as_sizes, as_variable, holds_variable,
                         unwrap, vector_elements, vector_of, wrap)
from .elementwise import cast, eq, isclose, neq, switch

TensorType = types.TensorType


class NotScalarConstantError(Exception):
    """A variable that is no scalar constant."""


class EmptyConstantError(NotScalarConstantError):
    """A constant without elements."""


def as_tensor_variable(x, name=None, ndim=None):
    if isinstance(x, bool):
        raise TypeError("Cannot cast True or False as a tensor variable. Please use 1 or 0, or numpy.asarray(True), or "
                        "theano.tensor.eq and its like")
    return as_variable(x, name, ndim)


as_tensor_variable.__doc__ = as_variable.__doc__
as_tensor = as_tensor_variable


def _c(x):
    return as_variable(x)._croton


def constant(x, name=None, ndim=None, dtype=None):
    """A constant of a number, array or list. A whole number takes the smallest integer dtype that holds it, a real one
    float32 where that is exact, else floatX; TypeError for variables."""
    if isinstance(x, Variable):
        raise TypeError(f"constant takes a value, not the variable {x}")
    if holds_variable(x):
        raise TypeError("constant takes values, not a list with variables")
    if dtype is not None:
        x = numpy.asarray(x, dtype=config.floatX if dtype == "floatX" else dtype)
    result = as_variable(x)
    if ndim is not None and result.ndim != ndim:
        if result.ndim > ndim:
            raise ValueError("ndarray could not be cast to constant with %i dimensions" % ndim)
        result = wrap(_croton.constant(numpy.asarray(result.data).reshape((1,) * (ndim - result.ndim) +
                                                                          result.data.shape)))
    if name is not None:
        result = wrap(_croton.constant(result.data.copy(), name))
    return result


def get_scalar_constant_value(v, elemwise=True, only_process_constants=False, max_recur=10):
    """The value of a scalar constant, or of an expression of constants. NotScalarConstantError for others."""
    if isinstance(v, (int, float, complex, numpy.generic)):
        return numpy.asarray(v)
    if isinstance(v, numpy.ndarray):
        if v.size == 0:
            raise EmptyConstantError()
        if v.ndim == 0 or v.size == 1:
            return v.reshape(())
        raise NotScalarConstantError()
    if isinstance(v, TensorConstant):
        if v.data.size == 0:
            raise EmptyConstantError()
        if v.data.ndim == 0 or (v.data == v.data.reshape(-1)[0]).all():
            return numpy.array(v.data.reshape(-1)[0])
        raise NotScalarConstantError()
    if isinstance(v, TensorVariable) and not only_process_constants:
        if v.owner is not None and getattr(v.owner.op, "croton_name", None) == "alloc":
            return get_scalar_constant_value(v.owner.inputs[0])
    if isinstance(v, TensorVariable) and not only_process_constants and v.ndim == 0:
        from ..graph import inputs
        if builtins.all(isinstance(x, TensorConstant) for x in inputs([v])):
            try:
                return numpy.asarray(v._croton.eval())
            except AssertionError:  # of an Assert that does not hold
                raise NotScalarConstantError(v) from None
    raise NotScalarConstantError(v)


def get_vector_length(v):
    """How many elements a vector has, where that is known. ValueError where it is not."""
    v = as_variable(v)
    if v.ndim != 1:
        raise TypeError(f"argument must be symbolic vector, got '{v}'")
    elements = vector_elements(v._croton)
    if elements is not None:
        return len(elements)
    if v.broadcastable[0]:
        return 1
    raise ValueError(f"length not known: {v}")


# ---- inputs

def _dtype(dtype):
    return config.floatX if dtype is None or str(dtype) == "floatX" else dtype


def _maker(name, broadcastable):
    def make(name=None, dtype=None):
        return TensorType(_dtype(dtype), broadcastable)(name)

    make.__name__ = name
    make.__doc__ = f"An input of the type {name}; its dtype is floatX unless given."
    return make


_KINDS = {"scalar": (), "vector": (False,), "matrix": (False,) * 2, "row": (True, False), "col": (False, True),
          "tensor3": (False,) * 3, "tensor4": (False,) * 4, "tensor5": (False,) * 5, "tensor6": (False,) * 6,
          "tensor7": (False,) * 7}
PREFIXES = {"b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64", "c": "complex64",
             "z": "complex128"}


def _several(make):
    def several(*names):
        """Several inputs: scalars("a", "b"), as many as a number says, or one for each letter of one text."""
        if names and isinstance(names[0], (int, numpy.integer)):
            made = [make() for _ in range(names[0])]
        else:
            made = [make(name) for name in (names[0] if len(names) == 1 else names)]
        return made[0] if len(made) == 1 else made

    return several


_PLURALS = {"scalar": "scalars", "vector": "vectors", "matrix": "matrices", "row": "rows", "col": "cols"}
__all__ = []
for _kind, _pattern in _KINDS.items():
    globals()[_kind] = _maker(_kind, _pattern)
    _plural = _PLURALS.get(_kind, _kind + "s")
    globals()[_plural] = _several(globals()[_kind])
    __all__ += [_kind, _plural]
    for _prefix, _name in PREFIXES.items():
        globals()[_prefix + _kind] = TensorType(_name, _pattern)
        globals()[_prefix + _plural] = _several(globals()[_prefix + _kind])
        __all__ += [_prefix + _kind, _prefix + _plural]


def tensor(*args, **kwargs):
    """An input: tensor(dtype=, broadcastable=, name=)."""
    name = kwargs.pop("name", None)
    return TensorType(*args, **kwargs)(name=name)


# ---- reductions

def _axes(x, axis):
    """The axes as a list from 0, None for all. ValueError for one that is not there, TypeError for no number."""
    if axis is None:
        return None
    if isinstance(axis, types.NoneConstant):
        return None
    if isinstance(axis, TensorConstant):
        axis = axis.data
    if isinstance(axis, numpy.ndarray):
        axis = axis.tolist()
    if isinstance(axis, Variable):
        raise TypeError(f"Computation needs a constant axis. Got {axis}")
    several = isinstance(axis, (list, tuple))
    result = []
    for a in (axis if several else [axis]):
        if isinstance(a, TensorConstant):
            a = a.data
        if isinstance(a, (float, numpy.floating)) and float(a) != int(a):
            raise TypeError(f"axis must be an integer, not {a!r}")
        a = int(a)
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"Invalid axis: {axis} (the number of axes of the input is: {x.ndim}): axis is out of "
                             "bounds")
        result.append(a % x.ndim)
    return result


def _reduction(name, doc):
    function = getattr(_croton, name)

    def reduce(input, axis=None, dtype=None, keepdims=False, acc_dtype=None):
        x = as_variable(input)
        return wrap(function(x._croton, _axes(x, axis), dtype, keepdims, acc_dtype))

    reduce.__name__ = name
    reduce.__doc__ = doc
    return reduce


sum = _reduction("sum", "The sum over axes (None: all). bool and integers give int64 or uint64; floats keep their dtype.")
_prod = _reduction("prod", "")


def prod(input, axis=None, dtype=None, keepdims=False, acc_dtype=None, no_zeros_in_input=False):
    """The product over axes (None: all)."""
    return _prod(input, axis, dtype, keepdims, acc_dtype)


def mean(input, axis=None, dtype=None, op=False, keepdims=False, acc_dtype=None):
    """The mean over axes (None: all). Integers give float64; floats keep their dtype."""
    x = as_variable(input)
    if dtype is not None and str(dtype) not in ("float16", "float32", "float64", "complex64", "complex128", "floatX"):
        raise ValueError(f"mean: the result is a float, not {dtype}")
    return wrap(_croton.mean(x._croton, _axes(x, axis), dtype, keepdims, acc_dtype))


def var(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The variance over axes; it is divided by the count less ddof."""
    x = as_variable(input)
    return wrap(_croton.var(x._croton, _axes(x, axis), ddof, keepdims))


def std(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The standard deviation over axes."""
    x = as_variable(input)
    return wrap(_croton.std(x._croton, _axes(x, axis), ddof, keepdims))


def _selection(name, doc):
    function = getattr(_croton, name)

    def select(x, axis=None, keepdims=False):
        x = as_variable(x)
        if name == "min" and x.dtype == "bool":
            return all(x, axis, keepdims)
        return wrap(function(x._croton, _axes(x, axis), None, keepdims))

    select.__name__ = name
    select.__doc__ = doc
    return select


max = _selection("max", "The largest element over axes; nan if there is one. All largest ones get the whole gradient.")
min = _selection("min", "The smallest element over axes; nan if there is one.")
argmax = _selection("argmax", "Where the first largest element is (int64); without axis in the flattened variable.")
argmin = _selection("argmin", "Where the first smallest element is (int64).")


def max_and_argmax(a, axis=None, keepdims=False):
    """[max, argmax]."""
    x = as_variable(a)
    return list(wrap(tuple(_croton.max_and_argmax(x._croton, _axes(x, axis), keepdims))))


def _condition(name, doc):
    function = getattr(_croton, name)

    def hold(x, axis=None, keepdims=False):
        x = as_variable(x)
        x = x if x.dtype == "bool" else neq(x, 0)
        return wrap(function(x._croton, _axes(x, axis), None, keepdims))

    hold.__name__ = name
    hold.__doc__ = doc
    return hold


all = _condition("all", "Whether all elements are not 0, over axes.")
any = _condition("any", "Whether any element is not 0, over axes.")


def ptp(a, axis=None):
    """max - min over an axis."""
    x = as_variable(a)
    return max(x, axis) - min(x, axis)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """The covariances of rows (rowvar) or columns, as numpy.cov; with y's variables behind m's."""
    m = as_variable(m)
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov: weights are not there; multiply the observations before")
    if not rowvar and m.shape[0] != 1:
        m = m.T
    if y is not None:
        y = as_variable(y)
        m = concatenate([m, y if rowvar else y.T], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    count = m.shape[1] - ddof
    m = m - mean(m, axis=1, keepdims=True)
    return dot(m, m.T.conj()) / cast(count, m.dtype) if m.dtype.startswith("float") else dot(m, m.T) / count


def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    """Whether all elements are close."""
    return all(isclose(a, b, rtol, atol, equal_nan))


# What counts as close for the dtypes that lose the most.
_CLOSE = {"float16": (1e-2, 5e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}


def _allclose(a, b, rtol=None, atol=None):
    """Whether two arrays are close, within what rounding does to the narrower of their dtypes."""
    found = [_CLOSE.get(str(numpy.asarray(x).dtype), (1e-5, 1e-8)) for x in (a, b)]
    return bool(numpy.allclose(a, b, rtol=builtins.max(r for r, _ in found) if rtol is None else rtol,
                               atol=builtins.max(t for _, t in found) if atol is None else atol))


# ---- arrays of one value, ranges

def alloc(value, *shape):
    """The value repeated to the shape; its dtype is the value's."""
    value = as_variable(value)
    sizes = as_sizes(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    if value.ndim > len(sizes):
        raise TypeError(f"The Alloc value to use has more dimensions than the specified dimensions: {value.ndim}, "
                        f"{len(sizes)}")
    return wrap(_croton.alloc(value._croton, *sizes))


def zeros(shape, dtype=None):
    """Zeros of a shape; floatX unless a dtype is given."""
    return wrap(_croton.zeros(as_sizes(shape), _dtype(dtype)))


def ones(shape, dtype=None):
    """Ones of a shape; floatX unless a dtype is given."""
    return wrap(_croton.ones(as_sizes(shape), _dtype(dtype)))


def zeros_like(model, dtype=None, opt=False):
    """Zeros of the variable's shape and dtype, or the given one."""
    x = as_variable(model)
    zero = wrap(_croton.zeros_like(x._croton))
    return zero if dtype is None else cast(zero, dtype)


def ones_like(model, dtype=None, opt=False):
    """Ones of the variable's shape and dtype, or the given one."""
    x = as_variable(model)
    one = wrap(_croton.ones_like(x._croton))
    return one if dtype is None else cast(one, dtype)


def identity_like(x):
    """The identity matrix of the shape of x."""
    x = as_variable(x)
    return eye(x.shape[0], x.shape[1], k=0, dtype=x.dtype)


def eye(n, m=None, k=0, dtype=None):
    """A matrix of n rows and m columns (None: n) with ones on the k-th diagonal."""
    return wrap(_croton.eye(_size(n), None if m is None else _size(m), _size(k), _dtype(dtype)))


def _size(n):
    return as_sizes(n)[0] if not isinstance(n, Variable) else as_variable(n)._croton


def tri(N, M=None, k=0, dtype=None):
    """Ones at and below the k-th diagonal."""
    return wrap(_croton.tri(_size(N), None if M is None else _size(M), _size(k), _dtype(dtype)))


def tril(m, k=0):
    """The matrix with zeros above the k-th diagonal."""
    return wrap(_croton.tril(_c(m), k))


def triu(m, k=0):
    """The matrix with zeros below the k-th diagonal."""
    return wrap(_croton.triu(_c(m), k))


def arange(start, stop=None, step=1, dtype=None):
    """start, start + step, ... below stop; whole numbers give int64. dtype: of the result."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = as_variable(start), as_variable(stop), as_variable(step)
    given = dtype
    if given is None:
        result = numpy.result_type(*[numpy.dtype(x.dtype) for x in (start, stop, step)])
        floats = [x.dtype for x in (start, stop, step) if x.dtype.startswith("float")]
        given = "int64" if result.kind in "iub" else _promoted(start, stop, step)
        if config.cast_policy == "numpy+floatX" and floats:
            given = config.floatX
    given = str(_dtype(given))
    kind = given if given.startswith("float") else "int64" if given[0] in "iu" else None
    values = wrap(_croton.arange(*[(x if kind is None else cast(x, kind))._croton for x in (start, stop, step)]))
    return cast(values, given)


def _promoted(*xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total.dtype


# ---- shapes

def shape(x):
    """The sizes of x, a vector of int64."""
    return as_variable(x).shape


def shape_i(x, i):
    return as_variable(x).shape[i]


def reshape(x, newshape, ndim=None, name=None):
    """The same elements in C order; one size may be -1. A literal 1 makes an axis that broadcasts. A vector of unknown
    length as shape needs ndim."""
    x = as_variable(x)
    if ndim is not None and isinstance(newshape, TensorVariable) and vector_elements(newshape._croton) is None:
        sizes = as_sizes(newshape, ndim)
    else:
        try:
            sizes = as_sizes(newshape, ndim)
        except ValueError:
            raise ValueError("The length of the provided shape cannot be automatically determined, so Theano is not "
                             "able to know what the number of dimensions of the reshaped variable will be. You can "
                             "provide the 'ndim' keyword argument to 'reshape' to avoid this problem.") from None
    if ndim is not None and ndim != len(sizes):
        raise ValueError(f"newshape argument to Reshape has incorrect length {len(sizes)}, should be {ndim}")
    result = wrap(_croton.reshape(x._croton, sizes))
    if name is not None:
        result.name = name
    return result


def flatten(x, ndim=1, outdim=None):
    """The same elements with ndim dimensions: the last ones become one."""
    x = as_variable(x)
    ndim = outdim if outdim is not None else ndim
    ndim = 1 if ndim is None else ndim
    if ndim < 1 or (ndim > builtins.max(1, x.ndim)):
        raise ValueError(f"ndim {ndim} out of bound [1, {x.ndim + 1})")
    result = wrap(_croton.flatten(x._croton, ndim))
    return addbroadcast(result, ndim - 1) if x.ndim and builtins.all(x.broadcastable[ndim - 1:]) else result


def is_flat(var, ndim=None, outdim=None):
    """Whether the variable has as many dimensions as flatten would give."""
    return var.ndim == (outdim or ndim or 1)


def transpose(x, axes=None):
    """The axes reversed, or in the given order."""
    x = as_variable(x)
    axes = list(range(x.ndim))[::-1] if axes is None else [int(a) for a in axes]
    result = wrap(_croton.transpose(x._croton, [a % x.ndim if -x.ndim <= a < x.ndim else a for a in axes]))
    if x.name and axes == list(range(x.ndim))[::-1] and result is not x:
        result.name = x.name + ".T"
    return result


def dimshuffle(x, *pattern):
    """Axis i of the result is axis pattern[i] of x, or a new one of size 1 where it is "x". ValueError for an axis that
    is left out and may be longer than 1."""
    x = as_variable(x)
    if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
        pattern = pattern[0]
    return wrap(_croton.dimshuffle(x._croton, checked_pattern(pattern, x.broadcastable)))


def checked_pattern(pattern, broadcastable):
    """The pattern of dimshuffle for such a variable, with axes from 0 on. ValueError."""
    ndim = len(broadcastable)
    axes = [p if p == "x" else int(p) + (ndim if int(p) < 0 else 0) for p in pattern]
    for p in axes:
        if p != "x" and not 0 <= p < ndim:
            raise ValueError(f"new_order[{axes.index(p)}] is {p}, but the input only has {ndim} axes.")
    kept = [p for p in axes if p != "x"]
    if len(set(kept)) != len(kept):
        raise ValueError(f"The same input dimension may not appear twice in the list of output dimensions {axes}")
    for axis in range(ndim):
        if axis not in kept and not broadcastable[axis]:
            raise ValueError(f"You cannot drop a non-broadcastable dimension: {axis} of {broadcastable}, pattern {axes}")
    return axes


def shape_padleft(t, n_ones=1):
    """n new axes of size 1 in front."""
    return wrap(_croton.shape_padleft(_c(t), n_ones))


def shape_padright(t, n_ones=1):
    """n new axes of size 1 behind."""
    return wrap(_croton.shape_padright(_c(t), n_ones))


def shape_padaxis(t, axis):
    """A new axis of size 1 at that position of the result. IndexError for one that is not there."""
    t = as_variable(t)
    if not -(t.ndim + 1) <= axis < t.ndim + 1:
        raise IndexError(f"axis {axis} is out of bounds [-{t.ndim + 1}, {t.ndim + 1})")
    return wrap(_croton.shape_padaxis(t._croton, axis))


def squeeze(x, axis=None):
    """Without the axes of size 1 that are known when the expression is built; ValueError for others."""
    x = as_variable(x)
    if axis is None:
        return wrap(_croton.squeeze(x._croton))
    return wrap(_croton.squeeze(x._croton, _axes(x, axis)))


def swapaxes(y, axis1, axis2):
    """The two axes exchanged. IndexError for axes that are not there."""
    y = as_variable(y)
    for axis in (axis1, axis2):
        if not -y.ndim <= axis < y.ndim:
            raise IndexError(f"swapaxes: axis {axis} of {y.ndim} dimensions")
    return wrap(_croton.swapaxes(y._croton, axis1, axis2))


def addbroadcast(x, *axes):
    """Says that these axes have the size 1, which is checked when a function is called."""
    axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    return _claimed(as_variable(x), axes, "addbroadcast")


def _claimed(x, axes, what):
    missing = [a % x.ndim if -x.ndim <= a < x.ndim else _no_axis(x, a) for a in axes]
    missing = [a for a in missing if not x.broadcastable[a]]
    return wrap(_croton.addbroadcast(x._croton, *missing)) if missing else x


def _no_axis(x, axis):
    raise ValueError(f"Trying to rebroadcast non-existent dimension {axis} of {x} ({x.ndim} dimensions)")


def unbroadcast(x, *axes):
    """Says that these axes do not broadcast, whatever their size."""
    x = as_variable(x)
    axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    axes = [a % x.ndim if -x.ndim <= a < x.ndim else _no_axis(x, a) for a in axes]
    axes = [a for a in axes if x.broadcastable[a]]
    return wrap(_croton.unbroadcast(x._croton, *axes)) if axes else x


def patternbroadcast(x, broadcastable):
    """x with exactly these axes broadcasting; claims are checked when a function is called."""
    x = as_variable(x)
    if tuple(broadcastable) == x.broadcastable:
        return x
    gained = [a for a, (new, old) in enumerate(zip(broadcastable, x.broadcastable)) if new and not old]
    lost = [a for a, (new, old) in enumerate(zip(broadcastable, x.broadcastable)) if old and not new]
    return unbroadcast(addbroadcast(x, *gained) if gained else x, *lost)


def specify_shape(x, shape):
    """x, whose sizes must be these when a function is called."""
    return wrap(_croton.specify_shape(_c(x), as_sizes(shape)))


# ---- put together and taken apart

def concatenate(tensor_list, axis=0):
    """The variables one after the other along an axis."""
    if not isinstance(tensor_list, (tuple, list)):
        raise TypeError(f"The 'tensors' argument must be either a tuple or a list, make sure you did not forget () or "
                        f"[] around arguments of concatenate. {tensor_list}")
    return join(axis, *tensor_list)


def join(axis, *tensors_list):
    """concatenate, with the axis first. A symbolic axis must be a constant."""
    tensors = [as_variable(x) for x in tensors_list]
    if not tensors:
        raise ValueError("Cannot join an empty list of tensors")
    if isinstance(axis, Variable):
        axis = get_scalar_constant_value(axis)
    if builtins.any(isinstance(axis, k) for k in (float, numpy.floating)):
        raise TypeError(f"The axis of join is a whole number, not {axis}")
    axis = int(axis)
    if builtins.any(x.ndim == 0 for x in tensors):
        raise TypeError("Join cannot handle arguments of dimension 0. For joining scalar values, see @stack")
    if builtins.any(x.ndim != tensors[0].ndim for x in tensors):
        raise TypeError("Only tensors with the same number of dimensions can be joined. Input dims are: "
                        f"{[x.ndim for x in tensors]}.")
    if not -tensors[0].ndim <= axis < tensors[0].ndim:
        raise IndexError(f"Join axis {axis} out of bounds [0, {tensors[0].ndim})")
    if len(tensors) == 1:
        return tensors[0]
    elements = [vector_elements(x._croton) for x in tensors] if tensors[0].ndim == 1 else [None]
    if builtins.all(e is not None for e in elements) and not builtins.any(isinstance(x, TensorConstant)
                                                                          for x in tensors):
        return vector_of([cast(wrap(e), _promoted(*tensors))._croton for part in elements for e in part])
    return wrap(_croton.concatenate([x._croton for x in tensors], axis))


def stack(*tensors, **kwargs):
    """The variables along a new axis: stack([x, y], axis=0), or, as it was, stack(x, y)."""
    if not tensors and "tensors" not in kwargs:
        raise Exception("theano.tensor.stack(tensors, axis) must have at least one parameter")
    if "tensors" in kwargs:
        tensors = (kwargs.pop("tensors"),)
    axis = kwargs.pop("axis", 0)
    if kwargs:
        raise TypeError(f"stack takes tensors and axis, not {sorted(kwargs)}")
    if isinstance(tensors[0], (list, tuple)):
        axis = tensors[1] if len(tensors) > 1 else axis
        tensors = tensors[0]
    tensors = [as_variable(x) for x in tensors]
    if not tensors:
        raise Exception("tensors is empty. You should at least provide one tensor to theano.tensor.stack(tensors, axis).")
    ndim = tensors[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds [-{ndim}, {ndim})")
    if ndim == 1:
        from .op_classes import MakeVector
        return MakeVector(_promoted(*tensors))(*tensors)
    return wrap(_croton.stack([x._croton for x in tensors], axis))


def split(x, splits_size, n_splits, axis=0):
    """x cut along an axis into n_splits parts of these sizes; a list."""
    x = as_variable(x)
    sizes = as_sizes(splits_size, n_splits) if n_splits else []
    if len(sizes) != n_splits:
        raise ValueError(f"In Split: splits_size has {len(sizes)} sizes, n_splits is {n_splits}")
    parts = wrap(list(_croton.split(x._croton, sizes, None, int(axis))))
    return parts[0] if n_splits == 1 else parts


def roll(x, shift, axis=None):
    """The elements moved along an axis (None: of the flattened variable), those that leave entering at the other end."""
    return wrap(_croton.roll(_c(x), unwrap(shift), axis))


def horizontal_stack(*args):
    """Matrices side by side."""
    return concatenate(args, axis=1)


def vertical_stack(*args):
    """Matrices one below the other."""
    return concatenate(args, axis=0)


def tile(x, reps, ndim=None):
    """x repeated reps[i] times along axis i; reps may be symbolic scalars."""
    x = as_variable(x)
    if ndim is not None and ndim < x.ndim:
        raise ValueError("ndim should be equal or larger than x.ndim")
    if isinstance(reps, TensorVariable) and reps.ndim > 1:
        raise ValueError("The dimension of reps should not exceed 1.")
    for n in (reps if isinstance(reps, (list, tuple)) else [reps]):
        if not as_variable(n).dtype.startswith(("int", "uint")):
            raise ValueError(f"elements of reps must be scalars of integer dtype, not {n}")
    sizes = as_sizes(reps, ndim)
    if ndim is not None and len(sizes) > ndim:
        raise ValueError(f"len(reps) should be equal or less than ndim: {len(sizes)}, {ndim}")
    sizes = [1] * (builtins.max(x.ndim, ndim or 0) - len(sizes)) + sizes
    return wrap(_croton.tile(x._croton, sizes))


def repeat(x, repeats, axis=None):
    """Each element along an axis (None: of the flattened variable) repeated so many times: a number, or a vector."""
    x, repeats = as_variable(x), as_variable(repeats)
    if repeats.ndim > 1:
        raise ValueError("The dimension of repeats should not exceed 1.")
    if not repeats.dtype.startswith(("int", "uint", "bool")):
        raise TypeError("repeats.dtype must be an integer.")
    if axis is not None and not -x.ndim <= axis < x.ndim:
        raise ValueError(f"repeat: axis {axis} of {x.ndim}")
    if repeats.ndim == 1 and repeats.broadcastable[0]:
        repeats = repeats[0]
    return wrap(_croton.repeat(x._croton, repeats._croton, axis))


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The offset-th diagonal of two axes, as a last axis."""
    return wrap(_croton.diagonal(_c(a), offset, axis1, axis2))


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with a vector there."""
    from .op_classes import AllocDiag, ExtractDiag
    v = as_variable(v)
    if v.ndim not in (1, 2):
        raise ValueError("Number of dimensions of `v` must be 1 or 2.")
    return (AllocDiag if v.ndim == 1 else ExtractDiag)(k)(v)


def trace(a, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal."""
    return wrap(_croton.trace(_c(a), offset, axis1, axis2))


def choose(a, choices, out=None, mode="raise"):
    """Element i of the result is choices[a[i]][i]; choices: a list of variables, or one with an axis in front."""
    if out is not None:
        raise NotImplementedError("choose: out= is not there")
    if isinstance(choices, (list, tuple)):
        return wrap(_croton.choose(_c(a), [_c(x) for x in choices], mode))
    from .subtensor import take_rows
    return take_rows(a, choices, mode)


def nonzero(a, return_matrix=False):
    """Where a is not 0: a tuple of vectors, one for each axis, or a matrix of as many rows."""
    a = as_variable(a)
    if a.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    if return_matrix:
        return stack(wrap(list(_croton.nonzero(a._croton))))
    return tuple(wrap(list(_croton.nonzero(a._croton))))


def flatnonzero(a):
    """Where the flattened a is not 0."""
    a = as_variable(a)
    if a.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return wrap(_croton.flatnonzero(a._croton))


def nonzero_values(a):
    """The elements that are not 0."""
    if as_variable(a).ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return wrap(_croton.nonzero_values(_c(a)))


def inverse_permutation(perm):
    """The permutation q with q[perm[i]] = i, of each row; its dtype is that of perm."""
    perm = as_variable(perm)
    inverse = _croton.inverse_permutation(perm._croton) if perm.ndim == 1 else _croton.argsort(perm._croton, -1)
    return cast(wrap(inverse), perm.dtype)


def permute_row_elements(x, y, inverse=0):
    """The elements of each row of x in the order of the row of y (with inverse: put back there)."""
    x, y = as_variable(x), as_variable(y)
    if inverse:
        y = wrap(_croton.argsort(y._croton, -1)) if y.ndim > 1 else inverse_permutation(y)
    ndim = builtins.max(x.ndim, y.ndim)
    x, y = as_variable(x, ndim=ndim), as_variable(y, ndim=ndim)
    if builtins.all(a == b for a, b in zip(x.broadcastable[:-1], y.broadcastable[:-1])):
        return wrap(_croton.take_along_axis(x._croton, y._croton, -1))
    zero_x, zero_y = (shape_padright(zeros_like(z, "int64")[..., 0]) for z in (x, y))
    return wrap(_croton.take_along_axis((x + cast(zero_y, x.dtype))._croton, (y + cast(zero_x, y.dtype))._croton, -1))


# ---- products

def dot(a, b):
    """The product over the last axis of a and the last but one of b; with a scalar: elementwise."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        return tensordot(a, b, [[a.ndim - 1], [builtins.max(0, b.ndim - 2)]])
    return wrap(_croton.dot(a._croton, b._croton))


def tensordot(a, b, axes=2):
    """The product over axes: the last and first ones, or a pair of lists of axes. ValueError for those that do not fit."""
    a, b = as_variable(a), as_variable(b)
    if isinstance(axes, (int, numpy.integer)) or (isinstance(axes, numpy.ndarray) and axes.ndim == 0):
        axes = int(axes)
        if axes > a.ndim or axes > b.ndim:
            raise ValueError(f"axes {axes} are more than the dimensions of a ({a.ndim}) or b ({b.ndim})")
        return wrap(_croton.tensordot(a._croton, b._croton, axes))
    if not isinstance(axes, (list, tuple, numpy.ndarray)) or len(axes) != 2:
        raise ValueError("Axes should be an integer or a list/tuple of len 2 (%s was provided)" % str(axes))
    first, second = ([int(x)] if isinstance(x, (int, numpy.integer)) else [int(i) for i in x] for x in axes)
    if len(first) != len(second):
        raise ValueError("Axes elements must have the same length.")
    for x, those, name in ((a, first, "a"), (b, second, "b")):
        if len(those) > x.ndim:
            raise ValueError(f"axes of {name} {those} are more than its {x.ndim} dimensions")
        for axis in those:
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"axis {axis} of {name} is not there: it has {x.ndim} dimensions")
    return wrap(_croton.tensordot(a._croton, b._croton, [first, second]))


def outer(x, y):
    """x[i] * y[j], both flattened."""
    x, y = as_variable(x), as_variable(y)
    return dot(x.flatten().dimshuffle(0, "x"), y.flatten().dimshuffle("x", 0))


def batched_dot(a, b):
    """dot of each pair along the first axis."""
    a, b = as_variable(a), as_variable(b)
    if a.ndim == 0:
        raise TypeError("a must have at least one (batch) axis")
    if b.ndim == 0:
        raise TypeError("b must have at least one (batch) axis")
    if a.ndim == 1:
        return a.dimshuffle(*([0] + ["x"] * (b.ndim - 1))) * b
    if b.ndim == 1:
        return a * b.dimshuffle(*([0] + ["x"] * (a.ndim - 1)))
    if a.ndim > 3 or b.ndim > 3:
        return batched_tensordot(a, b, [[a.ndim - 1], [builtins.max(1, b.ndim - 2)]])
    return wrap(_croton.batched_dot(a._croton, b._croton))


def batched_tensordot(x, y, axes=2):
    """tensordot of each pair along the first axis, which axes do not name."""
    x, y = as_variable(x), as_variable(y)
    if isinstance(axes, int):
        return wrap(_croton.batched_tensordot(x._croton, y._croton, axes))
    first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    return wrap(_croton.batched_tensordot(x._croton, y._croton, [first, second]))


def norm(x, ord):
    """(sum |x|^ord)^(1 / ord) of all elements; "inf": the largest."""
    x = as_variable(x)
    if x.ndim == 0:
        raise ValueError("'axis' entry is out of bounds.")
    if ord in ("inf", "-inf"):
        return max(abs(x)) if ord == "inf" else min(abs(x))
    if ord == 0:
        return cast(neq(x, 0), x.dtype).sum()
    return sum(abs(x)**ord)**(1.0 / ord)


def tensor_copy(x, name=None):
    """x, by another name if one is given."""
    x = as_variable(x)
    if name is None:
        return x
    same = x + numpy.zeros((), x.dtype) if x.dtype != "bool" else x | numpy.False_
    same.name = name
    return same


copy = tensor_copy


def default(x, y):
    """x, or y where x is None."""
    return y if x is None else x


def extract_constant(x, elemwise=True, only_process_constants=False):
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


def stacklists(arg):
    """Lists within lists of variables as one variable of as many dimensions more."""
    if isinstance(arg, (tuple, list)):
        return stack([stacklists(x) for x in arg])
    return as_variable(arg)


def load(path, dtype, broadcastable, mmap_mode=None):
    raise NotImplementedError("tensor.load reads a file when a function runs; read it by numpy.load and pass the array")


class _Grid:
    """mgrid[0:3, 0:n] and ogrid."""

    def __init__(self, whole):
        self._whole = whole

    def __getitem__(self, ranges):
        several = isinstance(ranges, tuple)
        ranges = ranges if several else (ranges,)
        vectors = [arange(0 if r.start is None else r.start, r.stop, 1 if r.step is None else r.step) for r in ranges]
        n = len(vectors)
        if self._whole and n == 1:
            return vectors[0]
        open_ = [v.dimshuffle(*["x"] * i, 0, *["x"] * (n - 1 - i)) for i, v in enumerate(vectors)]
        if not self._whole:
            return open_ if several else open_[0]
        ones_all = 1
        for v in open_:
            ones_all = ones_all * ones_like(v)
        return [v * ones_all for v in open_]


mgrid = _Grid(True)
ogrid = _Grid(False)

__all__ += [
    "NotScalarConstantError", "EmptyConstantError", "AsTensorError", "as_tensor_variable", "as_tensor", "constant",
    "get_scalar_constant_value", "get_vector_length", "tensor", "sum", "prod", "mean", "var", "std", "max", "min",
    "argmax", "argmin", "max_and_argmax", "all", "any", "ptp", "cov", "allclose", "alloc", "zeros", "ones", "zeros_like",
    "ones_like", "identity_like", "eye", "tri", "tril", "triu", "arange", "shape", "shape_i", "reshape", "flatten",
    "is_flat", "transpose", "dimshuffle", "shape_padleft", "shape_padright", "shape_padaxis", "squeeze", "swapaxes",
    "addbroadcast", "unbroadcast", "patternbroadcast", "specify_shape", "concatenate", "join", "stack",
    "split", "roll", "horizontal_stack", "vertical_stack", "tile", "repeat", "diagonal", "diag", "trace",
    "choose", "nonzero", "flatnonzero", "nonzero_values", "inverse_permutation", "permute_row_elements", "dot",
    "tensordot", "outer", "batched_dot", "batched_tensordot", "norm", "tensor_copy", "copy", "default",
    "extract_constant", "stacklists", "load", "mgrid", "ogrid", "TensorType", "eq", "switch",
]
