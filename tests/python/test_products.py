"""Products of all ranks against NumPy."""

import numpy as np
import pytest

import croton
import croton.tensor as T

SMALL = np.random.RandomState(3)


def whole(*shape):
    return SMALL.randint(-3, 4, shape).astype(np.float32)


def typed(value, name="x"):
    return croton.shared(value, name=name)


def check(expression, expected):
    result = expression.eval()
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("a, b", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((2, 3, 4), (4, 2)),
                                  ((2, 3, 4), (4,)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5))])
def test_dot_and_matmul(a, b):
    x, y = whole(*a), whole(*b)
    check(T.dot(typed(x), typed(y)), np.dot(x, y))
    check(typed(x) @ typed(y), x @ y)
    check(x @ typed(y), x @ y)
    check(typed(x) @ y, x @ y)
    check(T.matmul(typed(x), y), np.matmul(x, y))


def test_scalars():
    x = whole(2, 3)
    check(T.dot(typed(x), 2.0), x * 2)
    check(T.dot(typed(x), np.float32(2)), x * 2)
    with pytest.raises(croton.TypeError, match="a scalar is not a matrix"):
        typed(x) @ 2.0


def test_tensordot():
    x, y = whole(2, 3, 4), whole(3, 4, 5)
    check(T.tensordot(typed(x), typed(y)), np.tensordot(x, y))
    check(T.tensordot(typed(x), y, axes=0), np.tensordot(x, y, axes=0))
    check(T.tensordot(typed(x), y, axes=[[1, 2], [0, 1]]), np.tensordot(x, y, axes=[[1, 2], [0, 1]]))
    check(T.tensordot(typed(x), y, axes=(1, 0)), np.tensordot(x, y, axes=(1, 0)))
    check(T.tensordot(typed(x), y, axes=[[-1], [1]]), np.tensordot(x, y, axes=[[-1], [1]]))
    with pytest.raises(croton.TypeError, match="axes is a number, or a pair"):
        T.tensordot(typed(x), y, axes=[[1], [0], [2]])


def test_batches():
    x, y = whole(2, 3, 4), whole(2, 4, 5)
    check(T.batched_dot(typed(x), typed(y)), x @ y)
    check(T.batched_dot(typed(x), y[:, :, 0]), np.einsum("bij,bj->bi", x, y[:, :, 0]))
    check(T.batched_tensordot(typed(x), y, axes=[[2], [1]]), x @ y)
    check(T.batched_tensordot(typed(x), x.transpose(0, 2, 1), axes=1), x @ x.transpose(0, 2, 1))


def test_the_others():
    x, y, z = whole(2, 3), whole(4, 3), whole(3, 3)
    check(T.outer(typed(x), y), np.outer(x, y))
    check(T.inner(typed(x), y), np.inner(x, y))
    check(T.vdot(typed(z), z.T), np.vdot(z, z.T))
    check(T.kron(typed(x), y), np.kron(x, y))
    check(T.matrix_power(typed(z), 3), np.linalg.matrix_power(z, 3))
    check(T.matrix_power(typed(z), 0), np.eye(3))
    check(T.einsum("ij,kj->ik", typed(x), y), x @ y.T)
    with pytest.raises(croton.ValueError, match="invert the matrix first"):
        T.matrix_power(typed(z), -1)
