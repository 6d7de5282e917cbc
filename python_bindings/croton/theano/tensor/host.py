"""Functions that run on the host, by NumPy."""

from croton import _croton

from ..wrapping import as_variable, wrap


def square(x, what):
    """x as a matrix. AssertionError for another number of dimensions."""
    x = as_variable(x)
    if x.ndim != 2:
        raise AssertionError(f"{what}: a matrix is needed, not {x.ndim} dimensions")
    return x


def run(name, function, results, gradient, *inputs):
    """The results of a function of arrays that runs on the host. results(*variables): their pairs (dtype, shape)."""
    op = _croton.HostOp(name, results, function, gradient)
    outputs = op(*[x._croton for x in inputs])
    return wrap(list(outputs)) if isinstance(outputs, (list, tuple)) else wrap(outputs)


def like(x):
    """The dtype and shape of x, for a result of `run` that has them."""
    return x.dtype, list(x.shape)


def wrapped(gradient):
    """A gradient rule with Theano's variables as one with Croton's."""
    def croton_gradient(inputs, outputs, gs):
        gs = [None if g is None else wrap(g) for g in gs]
        return [None if g is None else g._croton for g in gradient(wrap(list(inputs)), wrap(list(outputs)), gs)]

    return croton_gradient


def as_float(x):
    """x; integers are converted to float64."""
    x = as_variable(x)
    return x if x.dtype.startswith(("float", "complex")) else x.astype("float64")
