"""Functions for neural networks; formulas and conventions are Theano's."""

from ._croton.nnet import *  # noqa: F403
