"""theano.tensor's classes of ops, for programs that construct and apply ops, or test the class of x.owner.op."""

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
    """DimShuffle(broadcastable, pattern)(x). ValueError for a pattern that is invalid for such a variable."""

    __props__ = ("input_broadcastable", "new_order", "inplace")

    def __init__(self, input_broadcastable, new_order, inplace=True):
        self.input_broadcastable, self.new_order, self.inplace = tuple(input_broadcastable), tuple(new_order), inplace
        shapes.checked_pattern(self.new_order, self.input_broadcastable)

    def build(self, x):
        x = as_variable(x)
        if x.broadcastable != self.input_broadcastable:
            raise TypeError("The number of dimensions and/or broadcastable pattern of the input is incorrect for this "
                            f"op. Expected {self.input_broadcastable}, got {x.broadcastable}.")
        return arrays.dimshuffle(x, *self.new_order)


class SpecifyShape(CrotonOp, shows=("specify_shape",)):
    """SpecifyShape()(x, shape)."""

    def build(self, x, shape):
        return arrays.specify_shape(x, shape)


class Shape(CrotonOp, shows=("shape_of",)):
    """Shape()(x): the sizes of x."""

    def build(self, x):
        return arrays.shape(x)


class Shape_i(CrotonOp):
    """Shape_i(i)(x): the size of axis i of x."""

    __props__ = ("i",)

    def __init__(self, i):
        self.i = int(i)

    def build(self, x):
        return as_variable(x).shape[self.i]


class Rebroadcast(CrotonOp, shows=("unbroadcast",)):
    """Rebroadcast((axis, broadcasts), ...)(x): x with these axes broadcasting or not."""

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


# ---- constant arrays, ranges

class Alloc(CrotonOp, shows=("alloc",)):
    """Alloc()(value, *sizes)."""

    def build(self, value, *shape):
        return arrays.alloc(value, *shape)


class AllocEmpty(CrotonOp):
    """AllocEmpty(dtype)(*sizes): an array with undefined values, which are zeros in Croton."""

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


# ---- joins, splits and parts

class Join(CrotonOp, shows=("concatenate",)):
    """Join(view)(axis, *tensors)."""

    __props__ = ("view",)

    def __init__(self, view=-1):
        self.view = view

    def build(self, axis, *tensors):
        return arrays.join(axis, *tensors)


class Split(CrotonOp):
    """Split(n)(x, axis, sizes): the n parts of x along an axis."""

    __props__ = ("len_splits",)

    def __init__(self, len_splits):
        self.len_splits = int(len_splits)

    def build(self, x, axis, splits):
        return arrays.split(x, splits, self.len_splits, int(arrays.get_scalar_constant_value(axis)))


class Subtensor(CrotonOp, shows=("subtensor",)):
    """The op of x[...] with numbers and slices. Subtensor(idx_list) has the index, in which variables and types are
    placeholders for arguments: Subtensor((slice(None), iscalar))(x, i)."""

    __props__ = ("idx_list",)

    def __init__(self, idx_list):
        self.idx_list = tuple(idx_list)

    def build(self, x, *arguments):
        arguments = iter(arguments)

        def fill(part):
            return next(arguments) if isinstance(part, (Variable, Type)) else part

        return as_variable(x)[tuple(slice(fill(i.start), fill(i.stop), fill(i.step)) if isinstance(i, slice) else
                                    fill(i) for i in self.idx_list)]


class AdvancedSubtensor(CrotonOp, shows=("gather",)):
    """AdvancedSubtensor()(x, *index)."""

    @classmethod
    def class_for(cls, inputs):
        return AdvancedSubtensor1 if len(inputs) == 2 and inputs[1].ndim == 1 else AdvancedSubtensor

    def build(self, x, *index):
        return as_variable(x)[index]


class AdvancedSubtensor1(CrotonOp):
    """AdvancedSubtensor1()(x, vector): the rows of x at the positions of the vector."""

    def build(self, x, index):
        x, index = as_variable(x), as_variable(index)
        if index.ndim != 1 or index.dtype.startswith(("float", "complex", "bool")):
            raise TypeError("index must be vector of integers")
        if x.ndim == 0:
            raise TypeError("cannot index into a scalar")
        return x[index]


class IncSubtensor(CrotonOp, shows=("inc_subtensor", "set_subtensor")):
    """The op of set_subtensor and inc_subtensor for x[...] with numbers and slices."""

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
    """AdvancedIncSubtensor1()(x, y, vector): as AdvancedIncSubtensor, for rows of x."""

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
    """Base of reductions: a reduction along axes by an elementwise function, in the dtype of the variable."""

    __props__ = ("axis",)

    def __init__(self, scalar_op=None, axis=None):
        self.scalar_op = scalar_op
        self.axis = axis if axis is None or isinstance(axis, (int, numpy.integer)) else tuple(axis)

    def build(self, x):
        name = getattr(self.scalar_op, "name", None)
        reduce = {"add": arrays.sum, "mul": arrays.prod, "maximum": arrays.max, "minimum": arrays.min,
                  "and_": arrays.all, "or_": arrays.any}.get(name)
        if reduce is None:
            raise NotImplementedError(f"CAReduce of {name} is not supported; add, mul, maximum, minimum, and_ and or_ "
                                      "are")
        x = as_variable(x)
        return cast(reduce(x, self.axis), x.dtype)


class CAReduceDtype(CAReduce):
    """A CAReduce with the dtypes of the result and of the accumulation."""

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
    """ProdWithoutZeros(axis, dtype, acc_dtype)(x): the product of the elements that are not 0; 0 if all are 0."""

    def build(self, x):
        x = as_variable(x)
        is_zero = arrays.eq(x, 0)
        nonzeros = arrays.switch(is_zero, numpy.ones((), x.dtype), x)
        product = arrays.prod(nonzeros, self.axis, self.dtype, False, self.acc_dtype)
        return arrays.switch(arrays.all(is_zero, self.axis), numpy.zeros((), product.dtype), product)


def _of_axis(name, reduce, shows=()):
    """The class of a reduction whose only parameter is the axes."""
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


# ---- conversion between theano.scalar and theano.tensor: both are arrays in Croton

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
    """{name: value} of the op classes and of the named ops in this module."""
    return {name: value for name, value in globals().items()
            if isinstance(value, CrotonOp) or (isinstance(value, type) and issubclass(value, CrotonOp)
                                               and value is not CrotonOp)}


__all__ = sorted(op_classes())
