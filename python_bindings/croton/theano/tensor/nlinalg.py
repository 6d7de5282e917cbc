"""Linear algebra. Functions of products run on every device; decompositions run on the host, by NumPy."""

import numpy

from croton import _croton

from ..graph import Apply
from ..op import Op
from ..types import TensorType
from ..wrapping import as_variable, wrap
from . import arrays, host, solving


def matrix_inverse(x):
    """The inverse of a square matrix. A call raises LinAlgError for a singular one."""
    x = host.as_float(host.square(x, "matrix_inverse"))

    def gradient(inputs, outputs, gs):
        inverse = outputs[0]
        return [-arrays.dot(arrays.dot(inverse.T, gs[0]), inverse.T)]

    return host.run("matrix_inverse", lambda a: numpy.linalg.inv(a).astype(a.dtype), host.like,
                    host.wrapped(gradient), x)


def pinv(x):
    """The Moore-Penrose pseudo-inverse."""
    x = host.as_float(host.square(x, "pinv"))

    def gradient(inputs, outputs, gs):
        (a,), z, g = inputs, outputs[0], gs[0]
        dot = arrays.dot
        rows, columns = arrays.identity_like(dot(a, z)), arrays.identity_like(dot(z, a))
        return [(-dot(dot(z, g.T), z) + dot(dot(dot(z, z.T), g), rows - dot(a, z)) +
                 dot(dot(dot(columns - dot(z, a), g), z.T), z)).T]

    return host.run("pinv", lambda a: numpy.linalg.pinv(a).astype(a.dtype),
                    lambda v: (v.dtype, [v.shape[1], v.shape[0]]), host.wrapped(gradient), x)


def det(x):
    """The determinant of a square matrix."""
    x = host.as_float(host.square(x, "det"))

    def gradient(inputs, outputs, gs):
        return [gs[0] * outputs[0] * matrix_inverse(inputs[0]).T]

    return host.run("det", lambda a: numpy.asarray(numpy.linalg.det(a), a.dtype), lambda v: (v.dtype, []),
                    host.wrapped(gradient), x)


def eigh(a, UPLO="L"):
    """[eigenvalues, eigenvectors] of a symmetric matrix, of which only the lower (or upper) half is read."""
    a = host.as_float(host.square(a, "eigh"))

    def gradient(inputs, outputs, gs):
        (x,), (w, v) = inputs, outputs
        gw = arrays.zeros_like(w) if gs[0] is None else gs[0]
        gv = arrays.zeros_like(v) if gs[1] is None else gs[1]
        gap = w.dimshuffle("x", 0) - w.dimshuffle(0, "x")
        f = arrays.switch(arrays.eq(gap, 0), 0, 1 / arrays.switch(arrays.eq(gap, 0), 1, gap)).astype(x.dtype)
        inner = arrays.dot(v.T, gv) * f + arrays.diag(gw)
        g = arrays.dot(arrays.dot(v, inner), v.T)
        half, other_half = (arrays.tril, arrays.triu) if UPLO == "L" else (arrays.triu, arrays.tril)
        return [half(g) + other_half(g, 1 if UPLO == "L" else -1).T]

    def compute(m):
        w, v = numpy.linalg.eigh(m, UPLO)
        return [w.astype(m.dtype), v.astype(m.dtype)]

    return host.run("eigh", compute, lambda v: [(v.dtype, [v.shape[0]]), host.like(v)], host.wrapped(gradient), a)


def eig(x):
    """[eigenvalues, eigenvectors] of a square matrix with real eigenvalues."""
    x = host.as_float(host.square(x, "eig"))

    def compute(m):
        w, v = numpy.linalg.eig(m)
        return [numpy.asarray(w.real, m.dtype), numpy.asarray(v.real, m.dtype)]

    return host.run("eig", compute, lambda v: [(v.dtype, [v.shape[0]]), host.like(v)], None, x)


def svd(a, full_matrices=1, compute_uv=1):
    """The singular value decomposition [U, s, V^T] of a matrix; only s without compute_uv."""
    a = host.as_float(host.square(a, "svd"))

    def compute(m):
        if not compute_uv:
            return numpy.linalg.svd(m, compute_uv=False).astype(m.dtype)
        return [part.astype(m.dtype) for part in numpy.linalg.svd(m, full_matrices=bool(full_matrices))]

    def results(v):
        rows, columns = v.shape
        k = _croton.minimum(rows, columns)
        if not compute_uv:
            return v.dtype, [k]
        return [(v.dtype, [rows, rows if full_matrices else k]), (v.dtype, [k]),
                (v.dtype, [columns if full_matrices else k, columns])]

    return host.run("svd", compute, results, None, a)


def qr(a, mode="reduced"):
    """The QR decomposition [Q, R] of a matrix; only R with mode="r"."""
    a = host.as_float(host.square(a, "qr"))
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(f"qr: the mode {mode!r} is not supported; reduced, complete and r are")

    def compute(m):
        result = numpy.linalg.qr(m, mode)
        return result.astype(m.dtype) if mode == "r" else [part.astype(m.dtype) for part in result]

    def results(v):
        rows, columns = v.shape
        k = rows if mode == "complete" else _croton.minimum(rows, columns)
        return (v.dtype, [k, columns]) if mode == "r" else [(v.dtype, [rows, k]), (v.dtype, [k, columns])]

    return host.run("qr", compute, results, None, a)


class lstsq(Op):
    """lstsq()(x, y, rcond): [the least squares solution b of x b = y, the sums of squared residuals, the rank of x, its
    singular values], as numpy.linalg.lstsq; singular values below rcond times the largest count as 0. They have no
    gradients. A call raises numpy.linalg.LinAlgError for an x that is not a matrix or an rcond that is not a number."""

    __props__ = ()

    def make_node(self, x, y, rcond):
        x, y, rcond = host.as_float(x), host.as_float(y), as_variable(rcond)
        wide = str(numpy.result_type(x.dtype, y.dtype))
        vector = TensorType(str(numpy.zeros(0, wide).real.dtype), (False,))
        return Apply(self, [x, y, rcond], [TensorType(wide, (False,) * y.ndim)(), vector(), TensorType("int32", ())(),
                                           vector()])

    def perform(self, node, inputs, outputs):
        x, y, rcond = inputs
        if rcond.ndim:
            raise numpy.linalg.LinAlgError("rcond must be a number")
        for cell, part in zip(outputs, numpy.linalg.lstsq(x, y, float(rcond))):
            cell[0] = part


def tensorinv(a, ind=2):
    """The inverse of a for tensordot(a, x, ind): that of a as a matrix whose rows are its first ind axes."""
    a = as_variable(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = arrays.prod(a.shape[:ind])
    back = arrays.concatenate([a.shape[ind:], a.shape[:ind]])
    return matrix_inverse(a.reshape((rows, -1))).reshape(back, ndim=a.ndim)


def tensorsolve(a, b, axes=None):
    """The solution x of tensordot(a, x, x.ndim) = b. axes: axes of a that are first moved to the end."""
    a, b = as_variable(a), as_variable(b)
    if axes is not None:
        a = a.transpose([i for i in range(a.ndim) if i not in axes] + list(axes))
    solution = solving.solve(a.reshape((b.size, -1)), b.flatten())
    return solution.reshape(a.shape[b.ndim:], ndim=a.ndim - b.ndim)


def matrix_power(M, n):
    """The n-th power of a matrix, for an integer n; a negative n is a power of the inverse."""
    M = host.square(M, "matrix_power")
    if n < 0:
        M, n = matrix_inverse(M), -n
    return wrap(_croton.matrix_power(M._croton, n))


def matrix_dot(*args):
    """The product of several matrices."""
    result = as_variable(args[0])
    for m in args[1:]:
        result = arrays.dot(result, m)
    return result


def extract_diag(x):
    """The diagonal of a matrix."""
    x = as_variable(x)
    if x.ndim != 2:
        raise TypeError(f"ExtractDiag only works on matrices, not {x.ndim} dimensions")
    return wrap(_croton.diag(x._croton, 0))


def alloc_diag(x):
    """The matrix with a vector as its diagonal."""
    x = as_variable(x)
    if x.ndim != 1:
        raise TypeError(f"AllocDiag only works on vectors, not {x.ndim} dimensions")
    return wrap(_croton.diag(x._croton, 0))


diag = arrays.diag


def trace(X):
    """The sum of the diagonal."""
    return extract_diag(X).sum()


def norm(x, ord):
    """The norm of a vector or matrix, as numpy.linalg.norm."""
    x = as_variable(x)
    if x.ndim > 2:
        raise NotImplementedError("We don't support norm with ndim > 2")
    if ord is None:
        return (x**2).sum()**0.5
    if x.ndim == 1:
        if ord == "inf":
            return arrays.max(abs(x))
        if ord == "-inf":
            return arrays.min(abs(x))
        if isinstance(ord, str):
            raise ValueError("Invalid norm order for vectors.")
        if ord == 0:
            return x[x.nonzero()].shape[0]
        return (abs(x)**ord).sum()**(1.0 / ord)
    if ord == "fro":
        return (abs(x**2)).sum()**0.5
    if ord in (1, -1):
        sums = abs(x).sum(0)
        return arrays.max(sums) if ord == 1 else arrays.min(sums)
    if ord in ("inf", "-inf"):
        sums = abs(x).sum(1)
        return arrays.max(sums) if ord == "inf" else arrays.min(sums)
    raise ValueError(f"Invalid norm order for matrices: {ord}")


class _FunctionOp:
    """A function that is an op in Theano: an object, so that it does not become a method as an attribute of a class."""

    def __init__(self, function):
        self._function = function
        self.__name__ = self.name = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __str__(self):
        return self.name

    __repr__ = __str__


matrix_inverse, pinv, det, eig, extract_diag, alloc_diag = (
    _FunctionOp(function) for function in (matrix_inverse, pinv, det, eig, extract_diag, alloc_diag))

__all__ = ["matrix_inverse", "pinv", "det", "eigh", "eig", "svd", "qr", "lstsq", "tensorinv", "tensorsolve",
           "matrix_power", "matrix_dot", "extract_diag", "alloc_diag", "trace"]
