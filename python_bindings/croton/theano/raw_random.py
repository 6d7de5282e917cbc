"""theano.tensor.raw_random: draws as functions of a state: (new state, numbers).

A draw is an op that NumPy itself computes on the host: RandomFunction of a method of numpy.random.RandomState, or of a
Python function of a RandomState. RandomStreams draw the same numbers without Python.
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

    fn: a method of RandomState, or its name, or a function of a RandomState, arguments and a shape; shape () leaves it
    to the arguments. outtype: the type of what is drawn, which has ndim_added dimensions more than the shape.
    ValueError when called where what fn gives is of another shape.
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
            raise ValueError(f"{self}: what was drawn has shape {drawn.shape}; {self.outtype.ndim} dimensions are "
                             f"expected{'' if size is None else f', the first of them {size}'}")
        output_storage[0][0] = words_of(state)
        output_storage[1][0] = _cast(drawn, self.outtype.dtype)

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, k, x, "random numbers have no derivative by what they are drawn with")
                for k, x in enumerate(inputs)]


def _cast(array, dtype):
    """As another dtype; whole numbers wrap round, as NumPy's integers do."""
    if array.dtype.kind == "f" and numpy.dtype(dtype).kind in "iu":
        array = array.astype("int64")
    return array.astype(dtype)


def _infer_ndim_bcast(ndim, shape, *args):
    """(ndim, shape as a vector of int64, which axes are 1 for good) of a draw.

    shape: numbers and scalars, of which -1 is the size that the arguments have there; a vector, of a length that is
    known or ndim; or None: what the arguments broadcast to. ValueError where ndim says something else, or the arguments have
    more dimensions.
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
                raise ValueError(f"the length of the shape {shape} is not known; ndim= says it")
            ndim = len(elements)
        vector, broadcastable = vector.astype("int64"), (False,) * ndim
    if any(x.ndim > ndim for x in args):
        raise ValueError("ndim should be at least as big as required by args value", ndim, args)
    return ndim, vector, broadcastable


def _size(n, axis, args):
    """A size of a draw along an axis, counted from the end, and whether it is 1 for good; -1 is that of the arguments."""
    if isinstance(n, Variable):
        return unwrap(n), False
    if n != -1:
        return unwrap(as_variable(n)), n == 1
    there = [x for x in args if x.ndim >= -axis]
    if not there:
        raise ValueError("Auto-shape of -1 must overlap with the shape of one of the broadcastable inputs")
    for x in there:
        if not x.broadcastable[axis]:
            return unwrap(x).shape[x.ndim + axis], False
    return unwrap(as_variable(1)), True


def _vector(sizes):
    return vector_of(sizes).astype("int64")


def _float(dtype, *args):
    return str(numpy.result_type(config.floatX, *[x.dtype for x in args])) if dtype is None else dtype


def _drawn(fn, state, size, ndim, dtype, *args, added=(), known=None):
    """A draw whose shape its arguments (or those of `known`) help to tell; added: more axes at the end."""
    ndim, size, broadcastable = _infer_ndim_bcast(ndim, size, *(args if known is None else known))
    if ndim == 0:
        size = ()
    op = RandomFunction(fn, TensorType(dtype, tuple(broadcastable) + tuple(added)), ndim_added=len(added))
    return op(state, size, *args)


def uniform(random_state, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
    """Real numbers from low to high."""
    low, high = as_variable(low), as_variable(high)
    return _drawn("uniform", random_state, size, ndim, _float(dtype, low, high), low, high)


def normal(random_state, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
    """Normal numbers."""
    avg, std = as_variable(avg), as_variable(std)
    return _drawn("normal", random_state, size, ndim, _float(dtype, avg, std), avg, std)


def binomial(random_state, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
    """How many of n trials of probability p succeed."""
    return _drawn("binomial", random_state, size, ndim, dtype, as_variable(n), as_variable(p if prob is None else prob))


def random_integers(random_state, size=None, low=0, high=1, ndim=None, dtype="int64"):
    """Whole numbers from low to high, both among them."""
    return _drawn(random_integers_helper, random_state, size, ndim, dtype, as_variable(low), as_variable(high))


def choice(random_state, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
    """Elements of the vector a, or whole numbers below the integer a."""
    p = as_variable(p if isinstance(p, Variable) or p else numpy.zeros(0))
    return _drawn(choice_helper, random_state, size, ndim, dtype, as_variable(a), as_variable(replace), p, known=())


def poisson(random_state, size=None, lam=1.0, ndim=None, dtype="int64"):
    """Poisson numbers of mean lam. TypeError without a size."""
    return _drawn("poisson", random_state, size, ndim, dtype, as_variable(lam), known=())


def permutation(random_state, size=None, n=1, ndim=None, dtype="int64"):
    """0 to n - 1 in random order, along a last axis."""
    if size is None or (isinstance(size, (list, tuple)) and not size):
        if ndim not in (None, 1):
            raise TypeError(f"one permutation has 1 dimension, not {ndim}")
        size, ndim = (), None
    return _drawn(permutation_helper, random_state, size, ndim, dtype, as_variable(n), added=(False,), known=())


def multinomial(random_state, size=None, n=1, pvals=[0.5, 0.5], ndim=None, dtype="int64"):
    """How often each class, along the last axis of pvals, came up in n draws."""
    n, pvals = as_variable(n), as_variable(pvals)
    rows = wrap(unwrap(pvals)[(Ellipsis, 0)])
    return _drawn(multinomial_helper, random_state, size, ndim, dtype, n, pvals, added=pvals.broadcastable[-1:],
                  known=(n, rows))


def _broadcast(size, *arrays):
    """The arrays as views of the size (None: what they broadcast to). ValueError where they do not fit."""
    return numpy.broadcast_arrays(*arrays) if size is None else [numpy.broadcast_to(a, size) for a in arrays]


def random_integers_helper(random_state, low, high, size):
    """Whole numbers from low to high, one after the other, so that each is drawn as by itself."""
    low, high = _broadcast(size, low, high)
    drawn = [random_state.randint(a, b + 1) for a, b in zip(low.ravel().tolist(), high.ravel().tolist())]
    return numpy.array(drawn, "int64").reshape(low.shape)


def choice_helper(random_state, a, replace, p, size):
    """RandomState.choice, with no probabilities where p is empty. ValueError unless p is a vector and a a number or
    a vector."""
    if a.ndim > 1:
        raise ValueError(f"a has {a.ndim} dimensions; it is a number or a vector")
    if p.ndim != 1:
        raise ValueError(f"p has {p.ndim} dimensions; probabilities are a vector")
    return random_state.choice(a if a.ndim else int(a), size, bool(replace), p if p.size else None)


def permutation_helper(random_state, n, shape):
    """Permutations of n whole numbers, one for each element of the shape."""
    shape, n = () if shape is None else tuple(shape), int(n)
    rows = [random_state.permutation(n) for _ in range(int(numpy.prod(shape, dtype=int)))]
    return numpy.array(rows, "int64").reshape(shape + (n,))


def multinomial_helper(random_state, n, pvals, size):
    """How often each class came up, for each row of pvals. Rows that add up to a little more than 1, or end with next
    to nothing, are made smaller, as Theano does. AssertionError for negative probabilities and for a sum above that."""
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
