"""What functions share that run on the host, by NumPy."""

from croton import _croton

from ..wrapping import as_variable, wrap


def square(x, what):
    """The matrix. AssertionError for what is none."""
    x = as_variable(x)
    if x.ndim != 2:
        raise AssertionError(f"{what}: a matrix is needed, not {x.ndim} dimensions")
    return x


def run(name, function, results, gradient, *inputs):
    """function of arrays, on the host. results(*variables): pairs (dtype, shape)."""
    op = _croton.HostOp(name, results, function, gradient)
    made = op(*[x._croton for x in inputs])
    return wrap(list(made)) if isinstance(made, (list, tuple)) else wrap(made)


def like(x):
    """A result of `run` of the type and shape of x."""
    return x.dtype, list(x.shape)


def wrapped(gradient):
    """A gradient written with Theano's variables as Croton takes it."""
    def called(inputs, outputs, gs):
        given = [None if g is None else wrap(g) for g in gs]
        return [None if g is None else g._croton for g in gradient(wrap(list(inputs)), wrap(list(outputs)), given)]

    return called


def as_float(x):
    """x, integers as float64."""
    x = as_variable(x)
    return x if x.dtype.startswith(("float", "complex")) else x.astype("float64")
