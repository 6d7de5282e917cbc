"""Gradient tools, with Theano's names and keywords."""

import numpy as np
import pytest

import croton
import croton.tensor as T

AT = np.array([0.5, -1.0, 2.0])


def value(expression, x, at=AT):
    return croton.function([x], expression, on_unused_input="ignore")(at)


def test_known_gradients_and_disconnected_variables():
    x, w = T.dvector("x"), T.dvector("w")
    y = x**2
    np.testing.assert_allclose(value(croton.grad(None, x, known_grads={y: 3 * T.ones_like(y)}), x), 6 * AT)
    none = croton.grad(y.sum(), [x, w], disconnected_inputs="ignore", return_disconnected="None")
    assert none[1] is None
    np.testing.assert_allclose(value(none[0], x), 2 * AT)
    zero = croton.grad(y.sum(), w, disconnected_inputs="ignore")
    np.testing.assert_array_equal(value(zero, w), [0, 0, 0])
    twice = croton.grad(y.sum(), [x, x])
    assert len(twice) == 2
    with pytest.raises(croton.ValueError, match="'zero'"):
        croton.grad(y.sum(), x, return_disconnected="nothing")
    with pytest.raises(croton.DisconnectedInputError, match="w is f64"):
        croton.grad(y.sum(), w)


def test_marks():
    x = T.dvector("x")
    np.testing.assert_allclose(value(croton.grad((T.disconnected_grad(x) * x).sum(), x), x), AT)
    np.testing.assert_allclose(value(croton.grad((T.zero_grad(x) * x).sum(), x), x), AT)
    np.testing.assert_allclose(value(croton.grad((T.grad_clip(x, -1, 1)**2).sum(), x), x), np.clip(2 * AT, -1, 1))
    np.testing.assert_allclose(value(croton.grad(T.grad_scale(x, -1).sum(), x), x), -np.ones(3))
    with pytest.raises(croton.NullTypeGradError, match="made by hand"):
        croton.grad(T.undefined_grad(x, "made by hand").sum(), x)
    assert issubclass(croton.NullTypeGradError, TypeError)
    assert croton.grad(T.undefined_grad(x).sum(), x, null_gradients="return") is None


def test_jacobian_and_hessian():
    x = T.dvector("x")
    np.testing.assert_allclose(value(T.jacobian(T.sin(x) * x[0], x), x),
                               np.diag(np.cos(AT) * AT[0]) + np.outer(np.sin(AT), [1, 0, 0]))
    np.testing.assert_allclose(value(T.hessian((x**3).sum(), x), x), np.diag(6 * AT))
    both = T.jacobian(x**2, [x, x])
    assert len(both) == 2
    v = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(value(T.hessian_times_vector((x**3).sum(), x, v), x), 6 * AT * v)


def test_products_with_the_jacobian():
    x, w = T.dvector("x"), T.dmatrix("w")
    a = np.arange(6.0).reshape(2, 3)
    f = croton.function([x, w], [T.Rop(w.dot(x), w, np.ones((2, 3))), T.Lop(w.dot(x), x, np.array([1.0, 2.0]))])
    right, left = f(AT, a)
    np.testing.assert_allclose(right, np.ones((2, 3)) @ AT)
    np.testing.assert_allclose(left, np.array([1.0, 2.0]) @ a)
    assert croton.Rop is T.Rop


def test_vectorize():
    x, many = T.dvector("x"), T.dmatrix("many")
    batch = np.arange(6.0).reshape(2, 3)
    result = croton.vectorize(T.softmax(x) if hasattr(T, "softmax") else croton.nnet.softmax(x), {x: many})
    expected = np.exp(batch) / np.exp(batch).sum(1, keepdims=True)
    np.testing.assert_allclose(value(result, many, batch), expected)
