"""theano.tensor.raw_random: draws as functions of a state: (new state, numbers).

A draw is an op that NumPy computes on the host: RandomFunction of a method of numpy.random.RandomState, or of a Python
function of a RandomState. RandomStreams draw the same numbers without Python.
"""

import numpy

from .configuration import config
from .gradients import grad_undefined
from .graph import Apply, Variable
from .op import Op
from .random_states import RandomStateSharedVariable, RandomStateType, random_state_type, state_of, words_of
from .types import TensorType
from .wrapping import as_variable, unwrap, vector_elements, vector_of, wrap


class RandomFunction(Op):
    """A draw as an op: RandomFunction("uniform", dvector)(state, shape, low, high) is [new state, numbers].

    fn: a method of RandomState, or its name, or a function of a RandomState, arguments and a shape; shape () means the
    shape of the arguments. outtype: the type of the numbers, which has ndim_added dimensions more than the shape.
    ValueError in a call if the result of fn has another shape.
    """

    __props__ = ("fn", "outtype", "inplace", "ndim_added")

    def __init__(self, fn, outtype, inplace=False, ndim_added=0):
        self.fn, self.outtype, self.inplace, self.ndim_added = fn, outtype, inplace, ndim_added
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return f"RandomFunction{{{self.fn if isinstance(self.fn, str) else self.fn.__name__}}}"

    def make_node(self, r, shape, *args):
        if not isinstance(getattr(r, "type", None), RandomStateType):
            raise TypeError(f"r must be RandomStateType instance, not {r!r}")
        if isinstance(shape, (list, tuple)) and not shape:
            shape = numpy.zeros(0, "int64")
        shape = as_variable(shape, ndim=1)
        if shape.dtype not in ("int32", "int64"):
            shape = shape.astype("int64")
        return Apply(self, [r, shape, *[as_variable(x) for x in args]], [random_state_type(), self.outtype()])

    def perform(self, node, inputs, output_storage):
        words, shape, *args = inputs
        state = state_of(words)
        size = tuple(int(n) for n in shape) if len(shape) else None
        if size is not None and len(size) + self.ndim_added != self.outtype.ndim:
            raise ValueError(f"{self}: the output has {self.outtype.ndim} dimensions; the shape {size} and ndim_added "
                             f"({self.ndim_added}) make {len(size) + self.ndim_added}")
        draw = getattr(numpy.random.RandomState, self.fn) if isinstance(self.fn, str) else self.fn
        drawn = numpy.asarray(draw(state, *args, size))
        if size is None and drawn.ndim == 0:
            drawn = drawn.reshape((1,) * self.outtype.ndim)
        leading = drawn.shape if self.ndim_added <= 0 else drawn.shape[:-self.ndim_added]
        if drawn.ndim != self.outtype.ndim or (size is not None and self.ndim_added >= 0 and leading != size):
            raise ValueError(f"{self}: the numbers have shape {drawn.shape}; {self.outtype.ndim} dimensions are "
                             f"expected{'' if size is None else f', the first of them {size}'}")
        output_storage[0][0] = words_of(state)
        output_storage[1][0] = _cast(drawn, self.outtype.dtype)

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, k, x, "random numbers have no derivative by their parameters")
                for k, x in enumerate(inputs)]


def _cast(array, dtype):
    """The array in another dtype; integers wrap around, as in NumPy."""
    if array.dtype.kind == "f" and numpy.dtype(dtype).kind in "iu":
        array = array.astype("int64")
    return array.astype(dtype)


def _infer_ndim_bcast(ndim, shape, *args):
    """(ndim, shape as a vector of int64, broadcastable) of a draw.

    shape: a list of numbers and scalars, where -1 is the size of the arguments along that axis; a vector, whose length
    is known or ndim; or None: the shape that the arguments broadcast to. ValueError if ndim differs, or if the
    arguments have more dimensions.
    """
    if shape is None:
        if not args:
            raise TypeError("_infer_ndim_bcast cannot infer shape without either shape or args")
        whole = args[0]
        for x in args[1:]:
            whole = whole + x
        return whole.ndim, _vector(list(whole._croton.shape)), whole.broadcastable
    if isinstance(shape, (list, tuple)):
        if ndim is not None and ndim != len(shape):
            raise ValueError(f"ndim should be equal to len(shape), but\n ndim = {ndim}, len(shape) = {len(shape)}, "
                             f"shape = {shape}")
        sizes = [_size(n, axis - len(shape), args) for axis, n in enumerate(shape)]
        ndim, vector, broadcastable = len(shape), _vector([n for n, _ in sizes]), tuple(one for _, one in sizes)
    else:
        vector = as_variable(shape)
        if vector.ndim != 1 or not vector.dtype.startswith(("int", "uint")):
            raise TypeError(f"shape must be a vector or list of whole numbers, got '{shape}'")
        if ndim is None:
            elements = vector_elements(unwrap(vector))
            if elements is None:
                raise ValueError(f"the length of the shape {shape} is not known; pass it as ndim=")
            ndim = len(elements)
        vector, broadcastable = vector.astype("int64"), (False,) * ndim
    if any(x.ndim > ndim for x in args):
        raise ValueError("ndim should be at least as big as required by args value", ndim, args)
    return ndim, vector, broadcastable


def _size(n, axis, args):
    """The size of a draw along an axis, counted from the end, and whether it is always 1; n = -1: that of the
    arguments."""
    if isinstance(n, Variable):
        return unwrap(n), False
    if n != -1:
        return unwrap(as_variable(n)), n == 1
    overlapping = [x for x in args if x.ndim >= -axis]
    if not overlapping:
        raise ValueError("Auto-shape of -1 must overlap with the shape of one of the broadcastable inputs")
    for x in overlapping:
        if not x.broadcastable[axis]:
            return unwrap(x).shape[x.ndim + axis], False
    return unwrap(as_variable(1)), True


def _vector(sizes):
    return vector_of(sizes).astype("int64")


def _float(dtype, *args):
    return str(numpy.result_type(config.floatX, *[x.dtype for x in args])) if dtype is None else dtype


def _draw(fn, state, size, ndim, dtype, *args, added=(), known=None):
    """An application of RandomFunction, whose shape is inferred with its arguments (or those of `known`). added:
    whether axes that are added at the end broadcast."""
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, size, *(args if known is None else known))
    if ndim == 0:
        size = ()
    op = RandomFunction(fn, TensorType(dtype, tuple(broadcastable) + tuple(added)), ndim_added=len(added))
    return op(state, size, *args)


def uniform(random_state, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
    """(new state, uniformly distributed numbers from low to high)."""
    low, high = as_variable(low), as_variable(high)
    return _draw("uniform", random_state, size, ndim, _float(dtype, low, high), low, high)


def normal(random_state, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
    """(new state, normally distributed numbers)."""
    avg, std = as_variable(avg), as_variable(std)
    return _draw("normal", random_state, size, ndim, _float(dtype, avg, std), avg, std)


def binomial(random_state, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
    """(new state, the number of successes in n trials of probability p)."""
    return _draw("binomial", random_state, size, ndim, dtype, as_variable(n), as_variable(p if prob is None else prob))


def random_integers(random_state, size=None, low=0, high=1, ndim=None, dtype="int64"):
    """(new state, integers from low to high, inclusive)."""
    return _draw(random_integers_helper, random_state, size, ndim, dtype, as_variable(low), as_variable(high))


def choice(random_state, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
    """(new state, random elements of the vector a, or integers below the integer a)."""
    p = as_variable(p if isinstance(p, Variable) or p else numpy.zeros(0))
    return _draw(choice_helper, random_state, size, ndim, dtype, as_variable(a), as_variable(replace), p, known=())


def poisson(random_state, size=None, lam=1.0, ndim=None, dtype="int64"):
    """(new state, Poisson-distributed numbers with mean lam). TypeError without a size."""
    return _draw("poisson", random_state, size, ndim, dtype, as_variable(lam), known=())


def permutation(random_state, size=None, n=1, ndim=None, dtype="int64"):
    """(new state, random permutations of 0 to n - 1 along a last axis)."""
    if size is None or (isinstance(size, (list, tuple)) and not size):
        if ndim not in (None, 1):
            raise TypeError(f"one permutation has 1 dimension, not {ndim}")
        size, ndim = (), None
    return _draw(permutation_helper, random_state, size, ndim, dtype, as_variable(n), added=(False,), known=())


def multinomial(random_state, size=None, n=1, pvals=[0.5, 0.5], ndim=None, dtype="int64"):
    """(new state, the counts of each class, along the last axis of pvals, in n draws)."""
    n, pvals = as_variable(n), as_variable(pvals)
    rows = wrap(unwrap(pvals)[(Ellipsis, 0)])
    return _draw(multinomial_helper, random_state, size, ndim, dtype, n, pvals, added=pvals.broadcastable[-1:],
                  known=(n, rows))


def _broadcast(size, *arrays):
    """The arrays broadcast to the size (None: to a common shape). ValueError if they cannot be."""
    return numpy.broadcast_arrays(*arrays) if size is None else [numpy.broadcast_to(a, size) for a in arrays]


def random_integers_helper(random_state, low, high, size):
    """Integers from low to high, drawn one after the other."""
    low, high = _broadcast(size, low, high)
    drawn = [random_state.randint(a, b + 1) for a, b in zip(low.ravel().tolist(), high.ravel().tolist())]
    return numpy.array(drawn, "int64").reshape(low.shape)


def choice_helper(random_state, a, replace, p, size):
    """RandomState.choice, without probabilities if p is empty. ValueError unless p is a vector and a is a number or a
    vector."""
    if a.ndim > 1:
        raise ValueError(f"a has {a.ndim} dimensions; it is a number or a vector")
    if p.ndim != 1:
        raise ValueError(f"p has {p.ndim} dimensions; probabilities are a vector")
    return random_state.choice(a if a.ndim else int(a), size, bool(replace), p if p.size else None)


def permutation_helper(random_state, n, shape):
    """Random permutations of 0 to n - 1, one for each element of the shape."""
    shape, n = () if shape is None else tuple(shape), int(n)
    rows = [random_state.permutation(n) for _ in range(int(numpy.prod(shape, dtype=int)))]
    return numpy.array(rows, "int64").reshape(shape + (n,))


def multinomial_helper(random_state, n, pvals, size):
    """The counts of each class, for each row of pvals. Rows whose sum is slightly above 1, or whose last element is
    nearly 0, are scaled down, as in Theano. AssertionError for negative probabilities and for larger sums."""
    assert pvals.min() >= 0, "a probability is negative"
    shape = numpy.broadcast_shapes(n.shape, pvals.shape[:-1]) if size is None else tuple(size)
    counts = numpy.broadcast_to(n, shape).ravel()
    rows = numpy.broadcast_to(pvals, shape + pvals.shape[-1:]).reshape(-1, pvals.shape[-1])
    drawn = numpy.empty(rows.shape, "int64")
    for result, count, row in zip(drawn, counts, rows):
        if 1.0 < row.sum() < 1.0 + 1e-5 or row[-1] < 5e-5:
            row = row * (1.0 - 5e-5)
        assert row.sum() <= 1.0, row.sum()
        result[...] = random_state.multinomial(count, row.astype("float64"))
    return drawn.reshape(shape + pvals.shape[-1:])


__all__ = ["uniform", "normal", "binomial", "random_integers", "choice", "poisson", "permutation", "multinomial",
           "random_integers_helper", "choice_helper", "permutation_helper", "multinomial_helper", "RandomFunction",
           "random_state_type", "RandomStateType", "RandomStateSharedVariable"]
