"""theano.tensor.raw_random: draws as functions of a state, (new state, numbers)."""

from . import modules
from .random_streams import RandomStreams


def names():
    """The names of the module."""
    found = {name: getattr(RandomStreams, name) for name in (
        "uniform", "normal", "binomial", "random_integers", "choice", "poisson", "permutation", "multinomial")}
    found["random_state_type"] = modules.absent("raw_random.random_state_type", "RandomStreams(seed)")
    found["RandomFunction"] = modules.absent("raw_random.RandomFunction", "RandomStreams(seed)")
    return found
