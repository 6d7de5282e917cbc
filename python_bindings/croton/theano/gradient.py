"""theano.gradient: gradients, and what stands in the way of them."""

from .gradients import (DisconnectedInputError, Lop, NullTypeGradError, Rop, clone, consider_constant,  # noqa: F401
                        disconnected_grad, disconnected_type, format_as, grad, grad_clip, grad_not_implemented, grad_scale,
                        grad_undefined, hessian, hessian_vector_product, jacobian, subgraph_grad, undefined_grad, zero_grad)
from .tensor.testing import GradientError, numeric_grad, verify_grad  # noqa: F401
from .types import DisconnectedType, NullType  # noqa: F401
