"""theano.tensor's classes of ops: programs make objects of them, apply these, and ask for the class of x.owner.op."""

import numpy

from ..croton_op import CrotonOp
from ..graph import Variable
from ..types import Type
from ..wrapping import as_variable
from . import arrays, shapes, subtensor
from .diagonals import AllocDiag, ExtractDiag  # noqa: F401
from .elementwise import cast
from .joining import MakeVector  # noqa: F401


class Dot(CrotonOp, shows=("dot",)):
    """Dot()(x, y)."""

    def build(self, x, y):
        return arrays.dot(x, y)


class BatchedDot(CrotonOp, shows=("batched_dot",)):
    """BatchedDot()(x, y)."""

    def build(self, x, y):
        return arrays.batched_dot(x, y)


# ---- shapes

class Reshape(CrotonOp, shows=("reshape",)):
    """Reshape(ndim)(x, shape)."""

    __props__ = ("ndim",)

    def __init__(self, ndim, name=None):
        self.ndim, self.name = ndim, name

    def build(self, x, shape):
        return arrays.reshape(x, shape, self.ndim)


class Flatten(CrotonOp):
    """Flatten(ndim)(x)."""

    __props__ = ("outdim",)

    def __init__(self, outdim=1):
        self.outdim = outdim

    def build(self, x):
        return arrays.flatten(x, self.outdim)


class DimShuffle(CrotonOp, shows=("dimshuffle",)):
    """DimShuffle(broadcastable, pattern)(x). ValueError for a pattern that does not fit such a variable."""

    __props__ = ("input_broadcastable", "new_order", "inplace")

    def __init__(self, input_broadcastable, new_order, inplace=True):
        self.input_broadcastable, self.new_order, self.inplace = tuple(input_broadcastable), tuple(new_order), inplace
        shapes.checked_pattern(self.new_order, self.input_broadcastable)

    def build(self, x):
        x = as_variable(x)
        if x.broadcastable != self.input_broadcastable:
            raise TypeError(f"The number of dimensions and/or broadcastable pattern of the input is incorrect for this op. "
                            f"Expected {self.input_broadcastable}, got {x.broadcastable}.")
        return arrays.dimshuffle(x, *self.new_order)


class SpecifyShape(CrotonOp, shows=("specify_shape",)):
    """SpecifyShape()(x, shape)."""

    def build(self, x, shape):
        return arrays.specify_shape(x, shape)


class Shape(CrotonOp, shows=("shape_of",)):
    """Shape()(x): its sizes."""

    def build(self, x):
        return arrays.shape(x)


class Shape_i(CrotonOp):
    """Shape_i(i)(x): one of them."""

    __props__ = ("i",)

    def __init__(self, i):
        self.i = int(i)

    def build(self, x):
        return as_variable(x).shape[self.i]


class Rebroadcast(CrotonOp, shows=("unbroadcast",)):
    """Rebroadcast((axis, broadcasts), ...)(x): these axes broadcast, or do not."""

    __props__ = ("axis",)

    def __init__(self, *axis):
        self.axis = dict(axis)
        for i, b in self.axis.items():
            if not isinstance(i, (int, numpy.integer)) or not isinstance(b, (bool, int, numpy.bool_)):
                raise TypeError(f"Rebroadcast needs pairs of an axis and whether it broadcasts, not ({i!r}, {b!r})")

    def build(self, x):
        x = as_variable(x)
        if self.axis and max(self.axis) >= x.ndim:
            raise ValueError("Trying to rebroadcast non-existent dimension")
        return arrays.patternbroadcast(x, [bool(self.axis.get(a, b)) for a, b in enumerate(x.broadcastable)])


# ---- arrays of one value, ranges

class Alloc(CrotonOp, shows=("alloc",)):
    """Alloc()(value, *sizes)."""

    def build(self, value, *shape):
        return arrays.alloc(value, *shape)


class AllocEmpty(CrotonOp):
    """AllocEmpty(dtype)(*sizes): an array whose values say nothing. Croton's are zeros."""

    __props__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = str(dtype)

    def build(self, *shape):
        return arrays.zeros(shape, self.dtype)


class ARange(CrotonOp, shows=("arange",)):
    """ARange(dtype)(start, stop, step)."""

    __props__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = dtype

    def build(self, start, stop, step):
        return arrays.arange(start, stop, step, self.dtype)


class Eye(CrotonOp):
    """Eye(dtype)(n, m, k)."""

    __props__ = ("dtype",)

    def __init__(self, dtype=None):
        self.dtype = dtype

    def build(self, n, m, k):
        return arrays.eye(n, m, k, self.dtype)


class Tri(Eye):
    """Tri(dtype)(n, m, k)."""

    def build(self, n, m, k):
        return arrays.tri(n, m, k, self.dtype)


# ---- put together and taken apart

class Join(CrotonOp, shows=("concatenate",)):
    """Join(view)(axis, *tensors)."""

    __props__ = ("view",)

    def __init__(self, view=-1):
        self.view = view

    def build(self, axis, *tensors):
        return arrays.join(axis, *tensors)


class Split(CrotonOp):
    """Split(n)(x, axis, sizes): x cut along an axis into n parts."""

    __props__ = ("len_splits",)

    def __init__(self, len_splits):
        self.len_splits = int(len_splits)

    def build(self, x, axis, splits):
        return arrays.split(x, splits, self.len_splits, int(arrays.get_scalar_constant_value(axis)))


class Subtensor(CrotonOp, shows=("subtensor",)):
    """What x[...] of numbers and slices makes. An object of it, Subtensor(idx_list), says which: variables and numbers,
    of which the former are given when it is applied: Subtensor((slice(None), iscalar))(x, i)."""

    __props__ = ("idx_list",)

    def __init__(self, idx_list):
        self.idx_list = tuple(idx_list)

    def build(self, x, *given):
        given = iter(given)

        def put(part):
            return next(given) if isinstance(part, (Variable, Type)) else part

        return as_variable(x)[tuple(slice(put(i.start), put(i.stop), put(i.step)) if isinstance(i, slice) else put(i)
                                    for i in self.idx_list)]


class AdvancedSubtensor(CrotonOp, shows=("gather",)):
    """AdvancedSubtensor()(x, *index)."""

    @classmethod
    def class_for(cls, inputs):
        return AdvancedSubtensor1 if len(inputs) == 2 and inputs[1].ndim == 1 else AdvancedSubtensor

    def build(self, x, *index):
        return as_variable(x)[index]


class AdvancedSubtensor1(CrotonOp):
    """AdvancedSubtensor1()(x, vector): rows of x."""

    def build(self, x, index):
        x, index = as_variable(x), as_variable(index)
        if index.ndim != 1 or index.dtype.startswith(("float", "complex", "bool")):
            raise TypeError("index must be vector of integers")
        if x.ndim == 0:
            raise TypeError("cannot index into a scalar")
        return x[index]


class IncSubtensor(CrotonOp, shows=("inc_subtensor", "set_subtensor")):
    """What set_subtensor and inc_subtensor make of x[...] of numbers and slices."""

    inplace = False

    @property
    def set_instead_of_inc(self):
        return self.croton_name == "set_subtensor"


class AdvancedIncSubtensor(CrotonOp, shows=("scatter",)):
    """AdvancedIncSubtensor()(x, y, *index): inc_subtensor, or with set_instead_of_inc set_subtensor, of x[index]."""

    __props__ = ("inplace", "set_instead_of_inc")
    inplace = False

    def __init__(self, inplace=False, set_instead_of_inc=False):
        self.inplace, self.set_instead_of_inc = inplace, set_instead_of_inc

    @classmethod
    def class_for(cls, inputs):
        return AdvancedIncSubtensor1 if inputs[1].ndim == 1 else AdvancedIncSubtensor  # x, index, its order, y

    def build(self, x, y, *index):
        change = subtensor.set_subtensor if self.set_instead_of_inc else subtensor.inc_subtensor
        return change(as_variable(x)[index], y)


class AdvancedIncSubtensor1(AdvancedIncSubtensor):
    """AdvancedIncSubtensor1()(x, y, vector): the same of rows of x."""

    @classmethod
    def class_for(cls, inputs):
        return cls


class Tile(CrotonOp):
    """Tile(ndim)(x, reps)."""

    __props__ = ("ndim",)

    def __init__(self, ndim):
        self.ndim = ndim

    def build(self, x, reps):
        return arrays.tile(x, reps, self.ndim)


class Choose(CrotonOp, shows=("choose",)):
    """Choose(mode)(a, choices)."""

    __props__ = ("mode",)

    def __init__(self, mode):
        if mode not in ("raise", "wrap", "clip"):
            raise ValueError(f"mode must be raise, wrap or clip, not {mode!r}")
        self.mode = mode

    def build(self, a, choices):
        return arrays.choose(a, choices, mode=self.mode)


class PermuteRowElements(CrotonOp):
    """PermuteRowElements()(x, y, inverse)."""

    def build(self, x, y, inverse=0):
        return arrays.permute_row_elements(x, y, int(arrays.get_scalar_constant_value(inverse)))


# ---- reductions

class CAReduce(CrotonOp):
    """Base of reductions: an elementwise function carried along axes, in the dtype of the variable."""

    __props__ = ("axis",)

    def __init__(self, scalar_op=None, axis=None):
        self.scalar_op = scalar_op
        self.axis = axis if axis is None or isinstance(axis, (int, numpy.integer)) else tuple(axis)

    def build(self, x):
        name = getattr(self.scalar_op, "name", None)
        reduce = {"add": arrays.sum, "mul": arrays.prod, "maximum": arrays.max, "minimum": arrays.min, "and_": arrays.all,
                  "or_": arrays.any}.get(name)
        if reduce is None:
            raise NotImplementedError(f"CAReduce of {name}: there are add, mul, maximum, minimum, and_ and or_")
        x = as_variable(x)
        return cast(reduce(x, self.axis), x.dtype)


class CAReduceDtype(CAReduce):
    """With dtypes of the result and of what adds up."""

    __props__ = ("axis", "dtype", "acc_dtype")

    def __init__(self, scalar_op=None, axis=None, dtype=None, acc_dtype=None):
        super().__init__(scalar_op, axis)
        self.dtype, self.acc_dtype = dtype, acc_dtype


class Sum(CAReduceDtype, shows=("sum",)):
    """Sum(axis, dtype, acc_dtype)(x)."""

    def __init__(self, axis=None, dtype=None, acc_dtype=None):
        super().__init__(None, axis, dtype, acc_dtype)

    def build(self, x):
        return arrays.sum(x, self.axis, self.dtype, False, self.acc_dtype)


class Prod(CAReduceDtype, shows=("prod",)):
    """Prod(axis, dtype, acc_dtype)(x)."""

    def __init__(self, axis=None, dtype=None, acc_dtype=None, no_zeros_in_input=False):
        super().__init__(None, axis, dtype, acc_dtype)

    def build(self, x):
        return arrays.prod(x, self.axis, self.dtype, False, self.acc_dtype)


class ProdWithoutZeros(Prod):
    """ProdWithoutZeros(axis, dtype, acc_dtype)(x): the product of what is not 0; of zeros alone 0."""

    def build(self, x):
        x = as_variable(x)
        is_zero = arrays.eq(x, 0)
        rest = arrays.prod(arrays.switch(is_zero, numpy.ones((), x.dtype), x), self.axis, self.dtype, False, self.acc_dtype)
        return arrays.switch(arrays.all(is_zero, self.axis), numpy.zeros((), rest.dtype), rest)


def _of_axis(name, reduce, shows=()):
    """A reduction with no other parameter than the axes."""
    def __init__(self, axis=None):
        CAReduce.__init__(self, None, axis)

    return type(name, (CAReduce,), {"__init__": __init__, "__module__": __name__, "__doc__": f"{name}(axis)(x).",
                                    "build": lambda self, x: reduce(x, self.axis)}, shows=shows)


All, Any = _of_axis("All", arrays.all, ("all",)), _of_axis("Any", arrays.any, ("any",))
Mean = _of_axis("Mean", arrays.mean)
Max, Min = _of_axis("Max", arrays.max, ("max",)), _of_axis("Min", arrays.min, ("min",))


class MaxAndArgmax(CrotonOp):
    """MaxAndArgmax(axes)(x): [max, argmax]."""

    __props__ = ("axis",)

    def __init__(self, axis=None):
        self.axis = axis

    def build(self, x):
        return arrays.max_and_argmax(x, self.axis)


class Argmax(CrotonOp, shows=("argmax",)):
    """Argmax(axes)(x)."""

    __props__ = ("axis",)

    def __init__(self, axis=None):
        self.axis = axis

    def build(self, x):
        return arrays.argmax(x, self.axis)


# ---- between theano.scalar and theano.tensor: both are arrays here

class TensorFromScalar(CrotonOp):
    """TensorFromScalar()(x): x."""

    def build(self, x):
        return arrays.tensor_copy(x)


class ScalarFromTensor(CrotonOp):
    """ScalarFromTensor()(x): x, which must have no dimensions."""

    def build(self, x):
        x = as_variable(x)
        if x.ndim != 0:
            raise TypeError(f"ScalarFromTensor takes a variable without dimensions, not {x.type}")
        return x


tensor_from_scalar, scalar_from_tensor = TensorFromScalar(), ScalarFromTensor()


def op_classes():
    """The classes, and the objects of them that have names: name -> class or object."""
    return {name: value for name, value in globals().items()
            if isinstance(value, CrotonOp) or (isinstance(value, type) and issubclass(value, CrotonOp)
                                               and value is not CrotonOp)}


__all__ = sorted(op_classes())
