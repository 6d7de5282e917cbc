"""Gradients: known gradients, ops written in Python, and their verification."""

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.gradient import DisconnectedInputError, GradientError, NullTypeGradError


class Scaled(theano.Op):
    """factor * x; its gradient is `wrong` times the right one."""

    __props__ = ("factor", "wrong")

    def __init__(self, factor, wrong=1):
        self.factor, self.wrong = factor, wrong

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = self.factor * inputs[0]

    def grad(self, inputs, gradients):
        return [gradients[0] * self.factor * self.wrong]


def test_a_node_computes_without_its_op_being_called():
    x = T.dvector("x")
    node = Scaled(3).make_node(x)
    y = node.outputs[0]
    assert y.owner is node and theano.function([x], y)([1.0, 2.0]).tolist() == [3.0, 6.0]
    assert T.grad(y.sum(), x).eval({x: [1.0]}).tolist() == [3.0]


def test_known_gradients_of_one_number_are_those_of_all_elements():
    x = T.dvector("x")
    y = x * 2
    assert T.grad(None, x, known_grads={y: T.constant(5.0)}).eval({x: [1.0, 1.0]}).tolist() == [10.0, 10.0]


def test_known_gradients_that_are_none():
    x = T.dscalar("x")
    y = x + 1
    with pytest.raises(NullTypeGradError, match="because"):
        T.grad(None, x, known_grads={y: theano.gradient.NullType("because")()})
    with pytest.raises(DisconnectedInputError):
        T.grad(None, x, known_grads={y: theano.gradient.DisconnectedType()()})


def test_verification_knows_axes_of_size_1():
    rng = numpy.random.RandomState(1)
    T.verify_grad(lambda a, b: a * b, [rng.rand(3, 4), rng.rand(1, 4)], rng=rng)
    T.verify_grad(lambda a: T.sqr(a), [rng.rand(5).astype("float32")], rng=rng)


def test_wrong_gradients_are_found():
    rng = numpy.random.RandomState(1)
    T.verify_grad(Scaled(3), [rng.rand(4)], rng=rng)
    with pytest.raises(GradientError, match="argument 0"):
        T.verify_grad(Scaled(3, wrong=1.1), [rng.rand(4)], rng=rng)


def test_numeric_gradients():
    slopes = T.numeric_grad(lambda a, b: (a**2).sum() * b, [numpy.array([1.0, 2.0]), numpy.array(3.0)])
    assert numpy.allclose(slopes.gf[0], [6.0, 12.0], rtol=1e-5) and numpy.allclose(slopes.gf[1], 5.0, rtol=1e-5)
    assert slopes.max_err([numpy.array([6.0, 12.5]), numpy.array(5.0)], 1e-4, 1e-4)[:2] == (0, (1,))


def test_clones_cast_where_they_are_not_strict():
    x, y, y2 = T.fvector("x"), T.fvector("y"), T.dvector("y2")
    z = x + y
    with pytest.raises(TypeError, match="strict=False"):
        theano.clone(z, {y: y2})
    found = theano.clone(z, {y: y2}, strict=False)
    assert theano.function([x, y2], found)(numpy.float32([1]), [2.0]).tolist() == [3.0]


def test_values_in_the_steps_of_a_scan(monkeypatch):
    monkeypatch.setitem(theano.config._values, "compute_test_value", "raise")
    xs, w = T.dmatrix("xs"), T.dscalar("w")
    xs.tag.test_value, w.tag.test_value = numpy.arange(6.0).reshape(3, 2), 2.0
    seen = []

    def step(x, ahead, total, w):
        seen.append([v.tag.test_value for v in (x, ahead, total)])
        return total + x * w

    theano.scan(step, sequences=[dict(input=xs, taps=[0, 1])], outputs_info=[T.zeros(2)], non_sequences=[w])
    for found, expected in zip(seen[0], ([0.0, 1.0], [2.0, 3.0], [0.0, 0.0])):
        assert numpy.array_equal(found, expected)


def test_inputs_that_are_made_of_each_other():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    z = T.dot(x, y)
    values = numpy.eye(2), numpy.ones((2, 2))
    assert numpy.array_equal(T.dot(x, z).eval({x: values[0], z: values[1]}), values[1])
    with pytest.raises(theano.compile.UnusedInputError):
        theano.function([x, y, z], z + 1)


def test_a_loop_over_the_jacobian_of_a_join():
    x = T.dvector("x")
    t = theano.shared(numpy.arange(3.0))
    y = T.join(0, x, t)
    rows, _ = theano.scan(lambda i, y, x: T.grad(y[i], x), sequences=T.arange(y.shape[0]), non_sequences=[y, x])
    assert rows.eval({x: [1.0, 2.0]}).tolist() == [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]


def test_whole_numbers_have_no_r_operator():
    x = T.dvector("x")
    with pytest.raises(ValueError, match="derivatives"):
        T.Rop(T.argmax(x), x, x)
