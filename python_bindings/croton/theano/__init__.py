"""Theano's API on Croton: `import croton.theano as theano`, or `croton.theano.install()` before a program that has
`import theano`, or `python -m croton.theano program.py`. docs/use/theano.md lists what is the same and what differs.

The import sets floatX to float64, Theano's default, unless THEANO_FLAGS, .theanorc or CROTON_FLAGS set another one.
"""

from .configuration import asarray as _asarray  # noqa: F401
from .configuration import change_flags, config, read_settings  # noqa: F401

read_settings()

from . import tensor  # noqa: E402, F401
from .asserts import Assert  # noqa: E402, F401
from .cloning import clone  # noqa: E402, F401
from .compiling import (Function, FunctionMaker, In, MissingInputError, Out, Param, SymbolicInput,  # noqa: E402, F401
                        SymbolicOutput, UnusedInputError, function)
from .gradients import (Lop, Rop, disconnected_grad, grad, hessian_vector_product,  # noqa: E402, F401
                        subgraph_grad)
from .graph import Apply, Variable  # noqa: E402, F401
from .looping import foldl, foldr, map, reduce, scan, scan_checkpoints  # noqa: E402, F401
from .modes import FAST_COMPILE, FAST_RUN, MonitorMode, Mode  # noqa: E402, F401
from .op import COp, Op, OpFromGraph, as_op  # noqa: E402, F401
from .pickling import function_dump  # noqa: E402, F401
from .printing import debugprint as dprint  # noqa: E402, F401
from .printing import pp, pprint  # noqa: E402, F401
from .sharing import SharedVariable, shared  # noqa: E402, F401
from .tensor.arrays import dot, get_scalar_constant_value  # noqa: E402, F401
from .types import Type, generic  # noqa: E402, F401
from .updates import OrderedUpdates  # noqa: E402, F401
from .variables import TensorConstant as Constant  # noqa: E402, F401
from . import methods, modules as _modules  # noqa: E402, F401

import sys as _sys  # noqa: E402

version = __version__ = "1.0.5+croton"
pprint.__name__ = "pprint"
_modules.make()
from .install import install  # noqa: E402, F401
from . import gradient, ifelse, printing  # noqa: E402, F401

theano = _sys.modules[__name__]  # programs write `from theano import theano`
