"""theano.tensor.nnet's functions, collected from their modules, without convolution and normalization."""

from .activations import *  # noqa: F403
from .losses import *  # noqa: F403
from .softmax_ops import *  # noqa: F403
from .softmaxes import *  # noqa: F403
