"""theano.tensor.nnet's functions, by the modules that have them; images and normalization are beside."""

from .activations import *  # noqa: F403
from .losses import *  # noqa: F403
from .softmax_ops import *  # noqa: F403
from .softmaxes import *  # noqa: F403
