"""Random streams with Theano's numbers: RandomStreams (NumPy's generator) and MRG_RandomStreams."""

import numpy

from croton import _croton

from . import raw_random
from .graph import Variable
from .random_states import as_state, shared_state
from .variables import TensorVariable
from .wrapping import as_sizes, as_variable, unwrap, wrap


def _shape(size, ndim):
    """A size for Croton; None is the shape of the parameters. ValueError if it does not have ndim elements."""
    sizes = _sizes(size, ndim)
    if ndim is not None and sizes is not None and len(sizes) != ndim:
        raise ValueError(f"ndim is {ndim}, and the size has {len(sizes)} elements: {size}")
    return sizes


def _sizes(size, ndim):
    if size is None:
        return None
    if isinstance(size, TensorVariable) and size.ndim == 1:
        return as_sizes(size, ndim)
    if isinstance(size, (list, tuple, numpy.ndarray)) or isinstance(size, Variable):
        return as_sizes(size, ndim)
    return [int(size)]


def _value(x):
    return x if isinstance(x, (int, float)) else as_variable(x)._croton


_TRUNCATED_DEVIATION = 0.87962566103423978  # of the standard normal distribution, truncated to [-2, 2]


class _Streams:
    """Base of the streams: the states of their draws."""

    def updates(self):
        """Pairs of each state and its default update."""
        return list(self.state_updates)

    _as_state = staticmethod(wrap)

    @property
    def state_updates(self):
        return [(self._as_state(state), wrap(value)) for state, value in self._streams.state_updates()]

    def __getstate__(self):
        """The state for pickles and copies, whose draws have the numbers that this object's next draws would have.
        Earlier draws and their states are not part of it."""
        return {**self.__dict__, "_streams": len(self._streams.state_updates()), "_generated": []}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._streams = self._new_streams()
        for _ in range(state["_streams"]):
            self._streams.uniform([1])

    def _with_state(self, variable, before):
        """The result of a draw, with its state as .rng and .update."""
        result = wrap(variable)
        pairs = self._streams.state_updates()
        if len(pairs) > before:
            state, value = pairs[-1]
            result.rng = self._as_state(state)
            result.update = (result.rng, wrap(value))
        return result

    def _draw(self, method, *args, **kwargs):
        before = len(self._streams.state_updates())
        return self._with_state(getattr(self._streams, method)(*args, **kwargs), before)


class RandomStreams(_Streams):
    """Streams with the numbers of numpy.random.RandomState. Each call of a method is one draw, whose state functions
    advance."""

    _as_state = staticmethod(as_state)

    def __init__(self, seed=None, no_warn=False):
        self.gen_seedgen = numpy.random.RandomState(seed)
        self._generated = []  # (state, new state) of draws by the user's functions
        self.default_instance_seed = seed
        self._seed = seed
        self._streams = self._new_streams()

    def _new_streams(self):
        seed = self.default_instance_seed
        return _croton.NumpyRandomStreams() if seed is None else _croton.NumpyRandomStreams(int(seed))

    def seed(self, seed=None):
        """Sets the states of all draws to those of a new object with this seed (None: the constructor's)."""
        self._streams.seed() if seed is None else self._streams.seed(int(seed))

    def __getitem__(self, item):
        """The state of a draw."""
        for state, value in self.state_updates:
            if item is state:
                return state
        raise KeyError(item)

    def __setitem__(self, item, value):
        self[item].set_value(value)

    def uniform(self, size=None, low=0.0, high=1.0, ndim=None, dtype=None):
        """Uniformly distributed numbers from low to high."""
        return self._draw("uniform", _shape(size, ndim), _value(low), _value(high), dtype)

    def normal(self, size=None, avg=0.0, std=1.0, ndim=None, dtype=None):
        """Normally distributed numbers."""
        return self._draw("normal", _shape(size, ndim), _value(avg), _value(std), dtype)

    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", prob=None):
        """The number of successes in n trials of probability p."""
        return self._draw("binomial", _shape(size, ndim), _value(n), _value(p if prob is None else prob), dtype)

    def random_integers(self, size=None, low=0, high=1, ndim=None, dtype="int64"):
        """Integers from low to high, inclusive."""
        drawn = self._draw("random_integers", _shape(size, ndim), _value(low), _value(high), "int64")
        if dtype == "int64":
            return drawn
        result = drawn.astype(dtype)  # numbers that do not fit wrap around
        result.rng, result.update = drawn.rng, drawn.update
        return result

    def choice(self, size=None, a=2, replace=True, p=None, ndim=None, dtype="int64"):
        """Random elements of the vector a, or integers below the integer a."""
        size = [] if size is None else _shape(size, ndim)
        if p is not None and not isinstance(p, Variable) and (numpy.ndim(p) == 0 or len(p) == 0):
            p = None
        return self._draw("choice", size, _value(a), replace if not isinstance(replace, Variable) else _value(replace),
                          None if p is None else _value(p), dtype)

    def poisson(self, size=None, lam=None, ndim=None, dtype="int64"):
        """Poisson-distributed numbers with mean lam."""
        lam = 1.0 if lam is None else lam
        shape = list(as_variable(lam)._croton.shape) if size is None else _shape(size, ndim)
        return self._draw("poisson", shape, _value(lam), dtype)

    def permutation(self, size=None, n=1, ndim=None, dtype="int64"):
        """Random permutations of 0 to n - 1, along a last axis."""
        return self._draw("permutation", [] if size is None else _shape(size, ndim), _value(n), dtype)

    def multinomial(self, size=None, n=1, pvals=[0.5, 0.5], ndim=None, dtype="int64"):
        """The counts of each class, along the last axis of pvals, in n draws."""
        return self._draw("multinomial", _shape(size, ndim), _value(n), _value(pvals), dtype)

    def shuffle_row_elements(self, input):
        """The input with the elements of each row in random order."""
        return self._draw("shuffle_row_elements", as_variable(input)._croton)

    def gen(self, op, *args, **kwargs):
        """A draw by a function of theano.tensor.raw_random, or by any op with op(state, *args) = (new state,
        numbers)."""
        name = op if isinstance(op, str) else getattr(op, "__name__", "")
        if isinstance(op, str) or op is getattr(raw_random, name, None):
            return getattr(self, name)(*args, **kwargs)
        state = shared_state(numpy.random.RandomState(int(self.gen_seedgen.randint(2 ** 30))))
        after, result = op(state, *args, **kwargs)
        state.default_update = after
        result.rng, result.update = state, (state, after)
        self._generated.append(result.update)
        return result

    @property
    def state_updates(self):
        return super().state_updates + self._generated


class MRG_RandomStreams(_Streams):
    """Streams of MRG31k3p (L'Ecuyer and Touzin 2000), with Theano's numbers. ValueError for the seed 0."""

    def __init__(self, seed=12345, use_cuda=None):
        self.default_instance_seed = self._seeded_with = seed
        self._check(seed)
        self._streams = self._new_streams()

    def _new_streams(self):
        return _croton.MrgRandomStreams(_plain_seed(self._seeded_with))

    @staticmethod
    def _check(seed):
        if isinstance(seed, (int, numpy.integer)):
            if seed == 0:
                raise ValueError("seed should not be 0", seed)
            return
        if not isinstance(seed, (list, tuple, numpy.ndarray)):
            raise TypeError("seed should be 1 integer or 6 integers")
        if len(seed) != 6:
            raise ValueError(f"6 seed values are needed, not {len(seed)}")

    def seed(self, seed=None):
        """Sets the states of all draws to those of a new object with this seed."""
        seed = self.default_instance_seed if seed is None else seed
        self._check(seed)
        self._streams.seed(_plain_seed(seed))
        self._seeded_with = seed

    set_rstate = seed

    def uniform(self, size, low=0.0, high=1.0, ndim=None, dtype=None, nstreams=None, **_):
        """Uniformly distributed numbers between low and high."""
        return self._draw("uniform", _shape(size, ndim), _value(low), _value(high), dtype, nstreams)

    def normal(self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None, truncate=False, **_):
        """Normally distributed numbers; truncate: within 2 std of avg; their standard deviation is then below std."""
        if truncate:
            return self.truncated_normal(size, avg, std * _TRUNCATED_DEVIATION, ndim, dtype, nstreams)
        return self._draw("normal", _shape(size, ndim), _value(avg), _value(std), dtype, nstreams)

    def truncated_normal(self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None, **_):
        """Normally distributed numbers, truncated at two deviations of the untruncated distribution and scaled so that
        their standard deviation is std."""
        return self._draw("truncated_normal", _shape(size, ndim), _value(avg), _value(std), dtype, nstreams)

    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", nstreams=None, **_):
        """1 with probability p, else 0."""
        return self._draw("binomial", _shape(size, ndim), _value(n), _value(p), dtype, nstreams)

    def multinomial(self, size=None, n=1, pvals=None, ndim=None, dtype="int64", nstreams=None, **_):
        """The counts of each class in n draws, for each row of pvals."""
        if pvals is None:
            raise TypeError("You have to specify pvals")
        if size is not None:
            raise ValueError("Provided a size argument to MRG_RandomStreams.multinomial, which does not use the size "
                             "argument.")
        return self._draw("multinomial", as_variable(pvals)._croton, _value(n), dtype, nstreams)

    def choice(self, size=1, a=None, replace=True, p=None, ndim=None, dtype="int64", nstreams=None, **_):
        """Distinct random columns for each row of p, by their probabilities."""
        if replace:
            raise NotImplementedError("MRG_RandomStreams.choice only works without replacement for now.")
        if a is not None:
            raise TypeError("For now, a has to be None in MRG_RandomStreams.choice. Sampled values are between 0 and "
                            "p.shape[1]-1")
        if p is None:
            raise TypeError("For now, p has to be specified in MRG_RandomStreams.choice.")
        size = size[0] if isinstance(size, (list, tuple)) and len(size) == 1 else size
        return self._draw("choice", unwrap(size), as_variable(p)._croton, dtype, nstreams)

    def multinomial_wo_replacement(self, size=None, n=1, pvals=None, replace=False, ndim=None, dtype="int64",
                                   nstreams=None, **_):
        """choice under its older name."""
        return self.choice(n, None, False, pvals, ndim, dtype, nstreams)


def _plain_seed(seed):
    return int(seed) if isinstance(seed, (int, numpy.integer)) else [int(s) for s in seed]


__all__ = ["RandomStreams", "MRG_RandomStreams"]
