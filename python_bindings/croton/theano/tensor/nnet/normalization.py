"""Batch normalization (Ioffe and Szegedy 2015)."""

from ...croton_op import CrotonOp
from ...wrapping import as_variable
from .. import arrays
from ..elementwise import cast, sqr


def batch_normalization(inputs, gamma, beta, mean, std, mode="low_mem"):
    """gamma (inputs - mean) / std + beta."""
    if mode not in ("low_mem", "high_mem"):
        raise ValueError(f'mode must be either "low_mem", "high_mem". Got {mode}')
    inputs = as_variable(inputs)
    return (inputs - mean) * (gamma / std) + beta


def _axes(axes, ndim):
    """The axes over which statistics are computed, as non-negative numbers. ValueError for invalid axes."""
    if axes == "per-activation":
        axes = (0,)
    elif axes == "spatial":
        axes = (0,) + tuple(range(2, ndim))
    elif isinstance(axes, int):
        axes = (axes,)
    axes = tuple(int(a) for a in axes)
    if not axes:
        raise ValueError("there should be at least one normalization axis")
    if min(axes) < 0 or max(axes) >= ndim:
        raise ValueError(f"axes should be less than ndim (<{ndim}), but {axes} given")
    return axes


def _parameters(inputs, axes, *parameters):
    """Parameters with as many dimensions as the inputs, of size 1 along the axes."""
    remaining = [a for a in range(inputs.ndim) if a not in axes]
    result = []
    for p in parameters:
        p = as_variable(p)
        if p.ndim == inputs.ndim:
            result.append(arrays.patternbroadcast(p, [a in axes or b for a, b in enumerate(p.broadcastable)]))
        elif p.ndim == len(remaining):
            result.append(p.dimshuffle(*["x" if a in axes else remaining.index(a) for a in range(inputs.ndim)]))
        else:
            raise ValueError(f"a parameter of batch normalization has {p.ndim} dimensions; {inputs.ndim} are needed")
    return result


def batch_normalization_train(inputs, gamma, beta, axes="per-activation", epsilon=1e-4, running_average_factor=0.1,
                              running_mean=None, running_var=None):
    """(out, mean, 1 / sqrt(variance + epsilon)) of the batch, and, with running averages, their new values. Statistics
    have the dimensions of gamma: all, of size 1 along the axes, or only those that are not in axes."""
    inputs, gamma = as_variable(inputs), as_variable(gamma)
    flat = gamma.ndim != inputs.ndim
    axes = _axes(axes, inputs.ndim)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be given or both be omitted.")
    if isinstance(epsilon, (int, float)) and epsilon < 1e-5:
        raise ValueError(f"epsilon must be at least 1e-5, got {epsilon}")
    gamma, beta = _parameters(inputs, axes, gamma, beta)
    mean = arrays.mean(inputs, axes, keepdims=True)
    variance = arrays.mean(sqr(inputs - mean), axes, keepdims=True)
    inverse = (variance + epsilon)**-0.5
    out = (inputs - mean) * (gamma * inverse) + beta
    results = [out, *(_without_axes(s, axes) if flat else s for s in (mean, inverse))]
    if running_mean is not None:
        running_mean, running_var = (as_variable(r) for r in (running_mean, running_var))
        patterns = running_mean.broadcastable, running_var.broadcastable
        old_mean, old_var = _parameters(inputs, axes, running_mean, running_var)
        count = cast(arrays.prod(arrays.stack([inputs.shape[a] for a in axes])), inputs.dtype)
        new_mean = old_mean * (1.0 - running_average_factor) + mean * running_average_factor
        unbiased = count / (count - 1) * variance
        new_var = old_var * (1.0 - running_average_factor) + unbiased * running_average_factor
        results += [arrays.patternbroadcast(_like(new_mean, running_mean, axes), patterns[0]),
                    arrays.patternbroadcast(_like(new_var, running_var, axes), patterns[1])]
    return tuple(results)


def _like(new, old, axes):
    """A statistic with as many dimensions as the old running average."""
    return new if old.ndim == new.ndim else _without_axes(new, axes)


def _without_axes(statistic, axes):
    return statistic.dimshuffle(*[a for a in range(statistic.ndim) if a not in axes])


def batch_normalization_test(inputs, gamma, beta, mean, var, axes="per-activation", epsilon=1e-4):
    """gamma (inputs - mean) / sqrt(var + epsilon) + beta."""
    inputs = as_variable(inputs)
    axes = _axes(axes, inputs.ndim)
    if isinstance(epsilon, (int, float)) and epsilon < 1e-5:
        raise ValueError(f"epsilon must be at least 1e-5, got {epsilon}")
    gamma, beta, mean, var = _parameters(inputs, axes, gamma, beta, mean, var)
    return (inputs - mean) * (gamma * (var + epsilon)**-0.5) + beta


class AbstractBatchNormTrain(CrotonOp):
    """AbstractBatchNormTrain(axes)(x, scale, bias, epsilon, factor, running_mean, running_var): see
    batch_normalization_train."""

    __props__ = ("axes",)

    def __init__(self, axes=(0,)):
        self.axes = tuple(axes)

    def build(self, x, scale, bias, epsilon=1e-4, running_average_factor=0.1, running_mean=None, running_var=None):
        return batch_normalization_train(x, scale, bias, self.axes, epsilon, running_average_factor, running_mean,
                                         running_var)


class AbstractBatchNormInference(CrotonOp):
    """AbstractBatchNormInference(axes)(x, scale, bias, mean, variance, epsilon): see batch_normalization_test."""

    __props__ = ("axes",)

    def __init__(self, axes=(0,)):
        self.axes = tuple(axes)

    def build(self, x, scale, bias, mean, variance, epsilon=1e-4):
        return batch_normalization_test(x, scale, bias, mean, variance, self.axes, epsilon)


class AbstractBatchNormTrainGrad(CrotonOp):
    """AbstractBatchNormTrainGrad(axes)(x, dy, scale, mean, inverse deviation): the gradients of
    batch_normalization_train by x, scale and bias, where dy is the gradient by its result."""

    __props__ = ("axes",)

    def __init__(self, axes=(0,)):
        self.axes = tuple(axes)

    def build(self, x, dy, scale, mean, inverse, epsilon=1e-4):
        x, dy, scale = as_variable(x), as_variable(dy), as_variable(scale)
        normed = (x - mean) * inverse

        def over_batch(value):
            return arrays.mean(value, self.axes, keepdims=True)

        gx = scale * inverse * (dy - over_batch(dy) - normed * over_batch(dy * normed))
        return [gx, arrays.sum(dy * normed, self.axes, keepdims=True), arrays.sum(dy, self.axes, keepdims=True)]


__all__ = ["AbstractBatchNormInference", "AbstractBatchNormTrain", "AbstractBatchNormTrainGrad", "batch_normalization",
           "batch_normalization_train", "batch_normalization_test"]
