"""theano.tensor's functions of arrays, collected from their modules."""

from ..types import TensorType  # noqa: F401
from .constants import *  # noqa: F403
from .creation import *  # noqa: F403
from .diagonals import *  # noqa: F403
from .elementwise import eq, switch  # noqa: F401
from .inputs import *  # noqa: F403
from .joining import *  # noqa: F403
from .picking import *  # noqa: F403
from .products import *  # noqa: F403
from .reductions import *  # noqa: F403
from .reductions import _allclose  # noqa: F401
from .shapes import *  # noqa: F403
