"""Joins, splits and repetition of variables."""

import numpy

from croton import _croton

from ..croton_op import CrotonOp
from ..graph import Variable
from ..variables import TensorConstant, TensorVariable
from ..wrapping import as_sizes, as_variable, unwrap, vector_elements, vector_of, wrap
from .constants import as_croton, get_scalar_constant_value
from .elementwise import cast


def promoted_dtype(*xs):
    """The dtype of the sum of the variables."""
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total.dtype


def concatenate(tensor_list, axis=0):
    """The variables joined along an existing axis."""
    if not isinstance(tensor_list, (tuple, list)):
        raise TypeError(f"The 'tensors' argument must be either a tuple or a list, make sure you did not forget () or "
                        f"[] around arguments of concatenate. {tensor_list}")
    return join(axis, *tensor_list)


def join(axis, *tensors_list):
    """The variables joined along an existing axis, which must be a constant if it is symbolic."""
    tensors = [as_variable(x) for x in tensors_list]
    if not tensors:
        raise ValueError("Cannot join an empty list of tensors")
    if isinstance(axis, Variable):
        axis = get_scalar_constant_value(axis)
    if any(isinstance(axis, k) for k in (float, numpy.floating)):
        raise TypeError(f"The axis of join is a whole number, not {axis}")
    axis = int(axis)
    if any(x.ndim == 0 for x in tensors):
        raise TypeError("Join cannot handle arguments of dimension 0. For joining scalar values, see @stack")
    if any(x.ndim != tensors[0].ndim for x in tensors):
        raise TypeError("Only tensors with the same number of dimensions can be joined. Input dims are: "
                        f"{[x.ndim for x in tensors]}.")
    if not -tensors[0].ndim <= axis < tensors[0].ndim:
        raise IndexError(f"Join axis {axis} out of bounds [0, {tensors[0].ndim})")
    if len(tensors) == 1:
        return tensors[0]
    elements = [vector_elements(x._croton) for x in tensors] if tensors[0].ndim == 1 else [None]
    if all(e is not None for e in elements) and not any(isinstance(x, TensorConstant) for x in tensors):
        return vector_of([cast(wrap(e), promoted_dtype(*tensors))._croton for part in elements for e in part])
    return wrap(_croton.concatenate([x._croton for x in tensors], axis))


class MakeVector(CrotonOp):
    """MakeVector(dtype)(*scalars): the vector of the scalars."""

    __props__ = ("dtype",)

    def __init__(self, dtype="int64"):
        self.dtype = dtype

    def build(self, *scalars):
        if not scalars:
            return wrap(_croton.zeros([0], self.dtype))
        scalars = [as_variable(x) for x in scalars]
        for x in scalars:
            if not numpy.can_cast(x.dtype, self.dtype):
                raise TypeError(f"MakeVector.dtype={self.dtype} cannot hold {x}, which is {x.dtype}")
        return vector_of([cast(x, self.dtype)._croton for x in scalars])


def stack(*tensors, **kwargs):
    """The variables joined along a new axis: stack([x, y], axis=0), or, in the older form, stack(x, y)."""
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
        raise Exception("tensors is empty. You should at least provide one tensor to theano.tensor.stack(tensors, "
                        "axis).")
    ndim = tensors[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds [-{ndim}, {ndim})")
    if ndim == 1:
        return MakeVector(promoted_dtype(*tensors))(*tensors)
    return wrap(_croton.stack([x._croton for x in tensors], axis))


def split(x, splits_size, n_splits, axis=0):
    """A list of the n_splits parts of x along an axis, of these sizes."""
    x = as_variable(x)
    sizes = as_sizes(splits_size, n_splits) if n_splits else []
    if len(sizes) != n_splits:
        raise ValueError(f"In Split: splits_size has {len(sizes)} sizes, n_splits is {n_splits}")
    parts = wrap(list(_croton.split(x._croton, sizes, None, int(axis))))
    return parts[0] if n_splits == 1 else parts


def roll(x, shift, axis=None):
    """x with its elements shifted cyclically along an axis (None: those of the flattened variable)."""
    return wrap(_croton.roll(as_croton(x), unwrap(shift), axis))


def horizontal_stack(*args):
    """The matrices joined side by side."""
    return concatenate(args, axis=1)


def vertical_stack(*args):
    """The matrices joined one below the other."""
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
    sizes = [1] * (max(x.ndim, ndim or 0) - len(sizes)) + sizes
    return wrap(_croton.tile(x._croton, sizes))


def repeat(x, repeats, axis=None):
    """x with each slice along an axis (None: each element) repeated; repeats is a number, or a vector with one for
    each."""
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


def stacklists(arg):
    """Nested lists of variables stacked to one variable, with one more dimension for each level."""
    if isinstance(arg, (tuple, list)):
        return stack([stacklists(x) for x in arg])
    return as_variable(arg)


__all__ = ["concatenate", "join", "stack", "split", "roll", "horizontal_stack", "vertical_stack", "tile", "repeat",
           "stacklists"]
