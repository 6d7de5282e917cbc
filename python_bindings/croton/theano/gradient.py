"""theano.gradient: gradients, and functions that stop or change them."""

from .cloning import clone  # noqa: F401
from .gradients import (ConsiderConstant, DisconnectedGrad, DisconnectedInputError, GradClip, GradScale,  # noqa: F401
                        Lop, NullTypeGradError, Rop, UndefinedGrad, ZeroGrad, consider_constant, consider_constant_,
                        disconnected_grad, disconnected_grad_, disconnected_type, format_as, grad, grad_clip,
                        grad_not_implemented, grad_scale, grad_undefined, hessian, hessian_vector_product, jacobian,
                        subgraph_grad, undefined_grad, undefined_grad_, zero_grad, zero_grad_)
from .tensor.testing import GradientError, numeric_grad, verify_grad  # noqa: F401
from .types import DisconnectedType, NullType  # noqa: F401
