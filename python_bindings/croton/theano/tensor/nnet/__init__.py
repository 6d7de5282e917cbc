"""theano.tensor.nnet: functions for neural networks."""

from .convolution import *  # noqa: F403
from .functions import *  # noqa: F403
from .neighbours import Images2Neibs, images2neibs, neibs2images  # noqa: F401
from .normalization import *  # noqa: F403
