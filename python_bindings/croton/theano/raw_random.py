"""theano.tensor.raw_random: draws as functions of a state: (new state, numbers)."""

import numpy

from croton import _croton

from .random_states import RandomStateSharedVariable, RandomStateType, random_state_type
from .random_streams import RandomStreams
from .variables import TensorVariable, as_variable, register, wrap


def _drawn(random_state, name, ndim, size, *args, **kwargs):
    """A draw by the method of RandomStreams of that name, from a given state."""
    if not isinstance(getattr(random_state, "type", None), RandomStateType):
        raise TypeError(f"r must be RandomStateType instance, not {random_state!r}")
    streams = RandomStreams(0)
    sample = getattr(streams, name)(size, *args, ndim=ndim, **kwargs)
    (state, update), = streams._streams.state_updates()
    new_sample, new_state = _croton.clone([sample._croton, update], {state: random_state._croton})
    after = register(TensorVariable(new_state))
    after._type = random_state_type
    return after, wrap(new_sample)


def uniform(random_state, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
    """Real numbers from low to high."""
    return _drawn(random_state, "uniform", ndim, size, low, high, dtype=dtype)


def normal(random_state, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
    """Normal numbers."""
    return _drawn(random_state, "normal", ndim, size, avg, std, dtype=dtype)


def binomial(random_state, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
    """How many of n trials of probability p succeed."""
    return _drawn(random_state, "binomial", ndim, size, n, p if prob is None else prob, dtype=dtype)


def random_integers(random_state, size=None, low=0, high=1, ndim=None, dtype="int64"):
    """Whole numbers from low to high, both among them."""
    return _drawn(random_state, "random_integers", ndim, size, low, high, dtype=dtype)


def choice(random_state, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
    """Elements of the vector a, or whole numbers below the integer a."""
    return _drawn(random_state, "choice", ndim, size, a, replace, p, dtype=dtype)


def poisson(random_state, size=None, lam=None, ndim=None, dtype="int64"):
    """Poisson numbers of mean lam. TypeError without either size or lam."""
    if size is None and lam is None:
        raise TypeError("poisson: a size or lam is needed")
    return _drawn(random_state, "poisson", ndim, size, lam, dtype=dtype)


def permutation(random_state, size=None, n=1, ndim=None, dtype="int64"):
    """0 to n - 1 in random order, along a last axis."""
    return _drawn(random_state, "permutation", ndim, size, n, dtype=dtype)


def multinomial(random_state, size=None, n=1, pvals=[0.5, 0.5], ndim=None, dtype="int64"):
    """How often each class, along the last axis of pvals, came up in n draws."""
    return _drawn(random_state, "multinomial", ndim, size, n, pvals, dtype=dtype)


def permutation_helper(random_state, n, shape):
    """Permutations of n whole numbers, one for each element of the shape, by a RandomState."""
    shape = () if shape is None else tuple(shape)
    rows = [random_state.permutation(n) for _ in range(int(numpy.prod(shape, dtype=int)))]
    return numpy.array(rows, "int64").reshape(shape + (n,))


class RandomFunction:
    """A draw as an op: RandomFunction(numpy.random.RandomState.uniform, dvector)(state, shape, low, high)."""

    def __init__(self, fn, outtype, inplace=False, ndim_added=0):
        name = fn if isinstance(fn, str) else fn.__name__
        self.name = name.replace("_helper", "")
        self.fn, self.outtype, self.ndim_added, self.inplace = fn, outtype, ndim_added, inplace
        if self.name not in ("uniform", "normal", "binomial", "random_integers", "choice", "poisson", "permutation",
                             "multinomial"):
            raise NotImplementedError(f"RandomFunction draws by the methods of RandomStreams; {name} is none")
        if inplace:
            self.destroy_map = {0: [0]}

    def __call__(self, random_state, shape, *args):
        size = as_variable(shape, ndim=1) if not isinstance(shape, (list, tuple)) or shape else ()
        if self.ndim_added < 0 and shape != ():
            raise ValueError("ndim_added must not be negative")
        after, out = _drawn(random_state, self.name, None, list(shape) if isinstance(shape, (list, tuple)) else size,
                            *args, dtype=self.outtype.dtype)
        if out.ndim != self.outtype.ndim:
            raise ValueError(f"{self}: ndim_added ({self.ndim_added}) says that the output has {self.outtype.ndim} "
                             f"dimensions; it has {out.ndim}")
        return [after, out]

    def make_node(self, random_state, shape, *args):
        return self(random_state, shape, *args)[1].owner

    def __str__(self):
        return f"RandomFunction{{{self.name}}}"


__all__ = ["uniform", "normal", "binomial", "random_integers", "choice", "poisson", "permutation", "multinomial",
           "permutation_helper", "RandomFunction", "random_state_type", "RandomStateType", "RandomStateSharedVariable"]
