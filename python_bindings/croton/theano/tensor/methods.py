"""Methods and operators of variables, such as x.sum() and x + y, which call the functions of theano.tensor."""

import operator

from croton import _croton

from ..variables import TensorVariable
from ..wrapping import AsTensorError, as_variable, wrap
from . import arrays, elementwise, extra_ops, sort, subtensor


def _operator(function):
    def forward(self, other):
        try:
            other = as_variable(other)
        except (AsTensorError, NotImplementedError):
            return NotImplemented
        return wrap(function(self._croton, other._croton))

    def backward(self, other):
        try:
            other = as_variable(other)
        except (AsTensorError, NotImplementedError):
            return NotImplemented
        return wrap(function(other._croton, self._croton))

    return forward, backward


def _comparison(compare):
    def marked(self, other):
        result = compare(self, other)
        if result is not NotImplemented:
            result._is_nonzero = False  # `a < b < c` would use its bool, and be silently wrong
        return result

    return marked


for _name, _function in {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
                         "floordiv": operator.floordiv, "mod": elementwise.remainder,
                         "pow": operator.pow, "and": operator.and_,
                         "or": operator.or_, "xor": operator.xor}.items():
    _forward, _backward = _operator(_function)
    setattr(TensorVariable, f"__{_name}__", _forward)
    setattr(TensorVariable, f"__r{_name}__", _backward)
TensorVariable.__div__, TensorVariable.__rdiv__ = TensorVariable.__truediv__, TensorVariable.__rtruediv__
for _name, _function in {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}.items():
    setattr(TensorVariable, f"__{_name}__", _comparison(_operator(_function)[0]))


def _divmod(self, other):
    return self // other, self % other


TensorVariable.__divmod__ = _divmod
TensorVariable.__neg__ = lambda self: wrap(-self._croton)
TensorVariable.__pos__ = lambda self: self
TensorVariable.__abs__ = lambda self: wrap(abs(self._croton))
TensorVariable.__invert__ = lambda self: wrap(~self._croton)
TensorVariable.__dot__ = lambda self, other: arrays.dot(self, other)
TensorVariable.__rdot__ = lambda self, other: arrays.dot(other, self)
TensorVariable.__matmul__ = lambda self, other: wrap(_croton.matmul(self._croton, as_variable(other)._croton))
TensorVariable.__rmatmul__ = lambda self, other: wrap(_croton.matmul(as_variable(other)._croton, self._croton))


def _method(function):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _reshape(self, shape, *sizes, **kwargs):
    """x.reshape((2, n)), x.reshape(2, n), x.reshape(vector, ndim=2)."""
    ndim = kwargs.pop("ndim", None)
    if sizes and ndim is None and isinstance(shape, (list, tuple, TensorVariable)) and getattr(shape, "ndim", 1) == 1:
        ndim = sizes[0]
    elif sizes:
        shape = (shape, *sizes)
    return arrays.reshape(self, shape, ndim)


def _transpose(self, *axes):
    """x.transpose(), x.transpose(1, 0), x.transpose((1, 0))."""
    if not axes or axes == (None,):
        return arrays.transpose(self)
    return arrays.transpose(self, axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes)


def _std(self, axis=None, ddof=0, keepdims=False, corrected=False):
    return arrays.std(self, axis, ddof, keepdims)


def _norm(self, L, axis=None, keepdims=False):
    """The norm (sum |x|^L)^(1 / L) over axes, for L > 0."""
    if L == 0:
        raise NotImplementedError()
    if L == float("inf"):
        raise NotImplementedError()
    return arrays.sum(abs(self)**L, axis=axis, keepdims=keepdims)**(1.0 / L)


def _ravel(self):
    return arrays.flatten(self)


def _nonzero(self, return_matrix=False):
    return arrays.nonzero(self, return_matrix)


def _get_scalar_constant_value(self):
    return arrays.get_scalar_constant_value(self)


_NAMES = """sum prod mean var max min argmax argmin all any ptp flatten dimshuffle squeeze swapaxes diagonal trace
repeat choose dot nonzero_values copy""".split()
for _name in _NAMES:
    setattr(TensorVariable, _name, _method(getattr(arrays, _name)))
for _name in ("clip", "round"):
    setattr(TensorVariable, _name, _method(getattr(elementwise, _name)))
for _name, _function in {"conj": _method(elementwise.conj), "conjugate": _method(elementwise.conj),
                         "astype": elementwise.cast,
                         "reshape": _reshape, "transpose": _transpose, "std": _std, "norm": _norm, "ravel": _ravel,
                         "nonzero": _nonzero, "fill": _method(elementwise.fill), "zeros_like": arrays.zeros_like,
                         "ones_like": arrays.ones_like,
                         "get_scalar_constant_value": _get_scalar_constant_value}.items():
    setattr(TensorVariable, _name, _function)

for _function in (sort.sort, sort.argsort, extra_ops.cumsum, extra_ops.cumprod, subtensor.take):
    setattr(TensorVariable, _function.__name__, _function)
TensorVariable.transfer = lambda self, target: wrap(_croton.transfer(self._croton, target))


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """array * variable and numpy.exp(variable): calls the function of theano.tensor, if there is one."""
    function = elementwise.of_numpy(ufunc.__name__)
    return NotImplemented if function is None or method != "__call__" or kwargs else function(*inputs)


def _set_subtensor(self, y):
    return subtensor.set_subtensor(self, y)


TensorVariable.__array_ufunc__ = _array_ufunc
TensorVariable.set_subtensor = _set_subtensor
