"""Croton: symbolic tensor expressions, compiled to CUDA C++ and native CPU code.

    import croton
    import croton.tensor as T

    x = T.matrix("x")
    f = croton.function([x], T.exp(x).sum())
    f([[0, 1], [2, 3]])
"""

from . import _croton, io, nn, nnet, notebook, pickling, tensor
from ._croton import *  # noqa: F403
from ._croton._trace import Trace, TraceEvent, log_device_placement
from .flags import change_flags, config
from .loops import foldl, foldr, map, reduce, scan, until
from .scopes import device, device_scope

Variable._repr_html_ = notebook.variable_html  # noqa: F405
Function._repr_html_ = notebook.function_html  # noqa: F405
Variable.__reduce__ = pickling.reduce_variable  # noqa: F405
Variable.__copy__ = lambda x: x  # noqa: F405  variables are immutable
SharedVariable.__copy__ = pickling.copy_shared  # noqa: F405
Function.__reduce__ = pickling.reduce_function  # noqa: F405
shared_constructor = shared  # noqa: F405  the name in programs for Theano's GPU arrays

# Without the exceptions, croton.TypeError and so on: `from croton import *` must not hide Python's own names.
__all__ = ["Function", "HostOp", "In", "KernelOp", "Lop", "OpFromGraph", "Out", "Rop", "SharedVariable", "Trace",
           "Variable", "change_flags", "clone", "config", "constant", "debugprint", "device", "device_scope", "devices",
           "function", "foldl", "foldr", "from_dlpack", "grad", "hessian", "ifelse", "io", "jacobian",
           "log_device_placement", "nn", "nnet", "scan", "shared", "shared_constructor", "tensor", "transfer", "until",
           "use"]
