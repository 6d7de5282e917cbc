"""Functions, updates, gradients, scan and random numbers with Theano's semantics."""

import numpy as np
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.sandbox.rng_mrg import MRG_RandomStreams
from croton.theano.tensor.shared_randomstreams import RandomStreams


def test_outputs_take_the_shape_that_was_asked_for():
    x = T.dvector("x")
    one = np.ones(2)
    assert isinstance(theano.function([x], x.sum())(one), np.ndarray) and theano.function([x], x.sum())(one).shape == ()
    assert isinstance(theano.function([x], [x])(one), list)
    assert set(theano.function([x], {"a": x, "b": x * 2})(one)) == {"a", "b"}
    assert theano.function([x], None, on_unused_input="ignore")(one) == []
    assert theano.function([x], [], on_unused_input="ignore")(one) == []


def test_updates_see_old_values():
    a, b = theano.shared(1.0, "a"), theano.shared(10.0, "b")
    f = theano.function([], [a, b], updates=[(a, b), (b, a)])
    assert [float(v) for v in f()] == [1, 10] and [float(v) for v in f()] == [10, 1]
    with pytest.raises(ValueError):
        theano.function([], [], updates=[(a, b), (a, a)])
    with pytest.raises(TypeError):
        theano.function([], [], updates=[(T.dscalar(), a)])


def test_default_updates():
    a = theano.shared(1.0)
    a.default_update = a + 1
    f = theano.function([], a)
    assert float(f()) == 1 and float(f()) == 2
    assert float(theano.function([], a, no_default_updates=True)()) == 3 and a.get_value() == 3
    assert float(theano.function([], a, no_default_updates=[a])()) == 3 and a.get_value() == 3


def test_inputs_that_are_missing_unused_or_twice():
    x, y = T.dscalar("x"), T.dscalar("y")
    with pytest.raises(theano.compile.UnusedInputError):
        theano.function([x, y], x)
    with pytest.raises(theano.compile.UnusedInputError):
        theano.function([x, x], x)
    with pytest.raises(theano.gof.MissingInputError):
        theano.function([x], x + y)
    with pytest.raises(theano.gof.MissingInputError):
        (x + y).eval({x: 1})


def test_givens_replace_before_compiling():
    data = theano.shared(np.arange(6.0).reshape(3, 2))
    x, i = T.dmatrix("x"), T.lscalar("i")
    f = theano.function([i], x.sum(), givens={x: data[i:i + 1]})
    assert [float(f(k)) for k in range(3)] == [1, 5, 9]
    with pytest.raises(TypeError):
        theano.function([], x.sum(), givens={x: data.astype("float32")})


def test_arrays_are_nobody_elses():
    v = np.ones(3)
    s = theano.shared(v)
    v[0] = 5
    assert s.get_value().tolist() == [1, 1, 1]
    s.get_value()[0] = 7
    out = theano.function([], s)()
    out[0] = 8
    assert s.get_value().tolist() == [1, 1, 1]
    with pytest.raises(TypeError):
        s.set_value(np.ones(3, "complex128"))
    with pytest.raises(TypeError):
        s.set_value(np.ones((3, 3)))
    s.set_value(np.ones(5, "float32"))
    assert s.get_value().dtype == np.float64 and s.get_value().shape == (5,)


@pytest.mark.parametrize("cost, at, gradient", [
    (lambda x: T.max(x), [3, 3, 1], [1, 1, 0]),
    (lambda x: T.clip(x, 0, 1).sum(), [0, 1, 2], [1, 1, 0]),
    (lambda x: abs(x).sum(), [0, -2, 2], [0, -1, 1]),
    (lambda x: T.nnet.relu(x).sum(), [0, -1, 1], [0.5, 0, 1]),
    (lambda x: T.maximum(x, 1).sum(), [1, 0, 2], [1, 0, 1]),
    (lambda x: T.prod(x), [0, 2, 3], [6, 0, 0]),
    (lambda x: T.switch(x > 0, T.log(x), 0).sum(), [0, 1, 2], [0, 1, 0.5]),
    (lambda x: T.floor(x).sum(), [0.5, 1, 2], [0, 0, 0])])
def test_ties_and_kinks(cost, at, gradient):
    x = T.dvector("x")
    np.testing.assert_allclose(theano.function([x], T.grad(cost(x), x), on_unused_input="ignore")(np.array(at, float)),
                               gradient)


def test_errors_of_gradients():
    x, y = T.dvector("x"), T.dvector("y")
    with pytest.raises(TypeError):
        T.grad(x, x)
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad(x.sum(), y)
    assert T.grad(x.sum(), y, disconnected_inputs="ignore").eval({y: np.ones(2)}).tolist() == [0, 0]
    both = T.grad(x.sum(), [x, x])
    assert isinstance(both, list) and len(both) == 2
    i = T.ivector("i")
    assert T.grad((i * x).sum(), i).dtype == "float64"


def test_scan():
    x, n = T.dvector("x"), T.iscalar("n")
    powers, updates = theano.scan(lambda p, a: p * a, outputs_info=T.ones_like(x), non_sequences=x, n_steps=n)
    f = theano.function([x, n], powers[-1], updates=updates)
    assert f(np.array([2.0, 3.0]), 3).tolist() == [8, 27]
    found, _ = theano.scan(lambda a: (a * 2, theano.scan_module.until(a * 2 > 20)), outputs_info=T.constant(1.0, dtype="float64"),
                           n_steps=50)
    assert found.eval().tolist() == [2, 4, 8, 16, 32]
    pairs, _ = theano.scan(lambda a, b: a + b, sequences=dict(input=x, taps=[0, 1]))
    assert pairs.eval({x: np.arange(4.0)}).tolist() == [1, 3, 5]
    fib, _ = theano.scan(lambda a, b: a + b, outputs_info=dict(initial=x, taps=[-2, -1]), n_steps=4)
    assert fib.eval({x: np.ones(2)}).tolist() == [2, 3, 5, 8]
    # Initial rows that no tap uses are not read.
    assert fib.eval({x: np.array([1.0, 1.0, 7.0])}).tolist() == [2, 3, 5, 8]
    assert T.grad(fib[-1], x).eval({x: np.ones(3)}).tolist() == [3, 5, 0]
    backwards, _ = theano.scan(lambda a: a, sequences=x, go_backwards=True)
    assert backwards.eval({x: np.arange(3.0)}).tolist() == [2, 1, 0]
    listed, _ = theano.scan(lambda a: a, sequences=x, return_list=True)
    assert isinstance(listed, list)
    with pytest.raises((TypeError, ValueError), match="float"):
        theano.scan(lambda a, b: b + a, sequences=x, outputs_info=T.constant(np.float32(0)))
    w = T.dscalar("w")
    for k, gradient in [(-1, 32.0), (2, 16.0), (1, 8.0)]:
        p, _ = theano.scan(lambda a, v: a * v, outputs_info=T.constant(1.0, dtype="float64"), non_sequences=w, n_steps=4,
                           truncate_gradient=k)
        assert float(T.grad(p[-1], w).eval({w: 2.0})) == gradient


def test_reductions_of_loops():
    x = T.dvector("x")
    assert float(theano.reduce(lambda a, b: a + b, x, T.constant(0.0, dtype="float64"))[0].eval({x: np.arange(4.0)})) == 6
    assert theano.map(lambda a: a * a, x)[0].eval({x: np.arange(3.0)}).tolist() == [0, 1, 4]
    assert float(theano.foldr(lambda a, b: a - b, x, T.constant(0.0, dtype="float64"))[0].eval({x: np.arange(4.0)})) == -2


def test_random_numbers_are_theanos():
    f = theano.function([], RandomStreams(234).uniform((2, 2)))
    seed = np.random.RandomState(np.random.RandomState(234).randint(2**30))
    np.testing.assert_array_equal(f(), seed.uniform(size=(2, 2)))
    np.testing.assert_array_equal(f(), seed.uniform(size=(2, 2)))
    np.testing.assert_allclose(theano.function([], MRG_RandomStreams(1).uniform((2,)))(), [0.00192267, 0.7363597], atol=5e-9)
    np.testing.assert_allclose(theano.function([], MRG_RandomStreams().uniform((3,)))(),
                               [0.73532445, 0.25856858, 0.69408069], atol=5e-9)
    with pytest.raises(ValueError):
        MRG_RandomStreams(0)


def test_ifelse_computes_one_branch():
    x = T.dvector("x")
    f = theano.function([x], theano.ifelse.ifelse(T.gt(x.shape[0], 3), x[3], x[0]))
    assert float(f(np.arange(2.0))) == 0 and float(f(np.arange(5.0))) == 3


def test_own_operations():
    class Double(theano.Op):
        __props__ = ()

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] * 2

        def grad(self, inputs, gradients):
            return [gradients[0] * 2]

    x = T.dvector("x")
    y = Double()(x)
    assert y.owner.op == Double() and y.owner.inputs == [x]
    f = theano.function([x], [y + 1, T.grad(y.sum(), x)])
    assert [v.tolist() for v in f(np.arange(2.0))] == [[1, 3], [2, 2]]

    @theano.as_op(itypes=[T.dvector], otypes=[T.dvector])
    def reverse(a):
        return a[::-1]

    assert theano.function([x], reverse(x))(np.arange(3.0)).tolist() == [2, 1, 0]
    T.verify_grad(Double(), [np.random.rand(3)], rng=np.random.RandomState(1))


def test_verify_grad_finds_faults():
    class Wrong(theano.Op):
        def make_node(self, x):
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] ** 2

        def grad(self, inputs, gradients):
            return [gradients[0] * inputs[0]]

    with pytest.raises(theano.gradient.GradientError):
        T.verify_grad(Wrong(), [np.ones(3)], rng=np.random.RandomState(1))


def test_linear_algebra_and_its_gradients():
    rng = np.random.RandomState(1)
    a = rng.rand(3, 3) + 3 * np.eye(3)
    spd = a @ a.T
    for f, at in [(T.nlinalg.matrix_inverse, a), (T.nlinalg.det, a), (T.slinalg.cholesky, spd),
                  (lambda x: T.nlinalg.eigh(x)[0], spd), (lambda x: T.slinalg.solve(x, np.ones(3)), a)]:
        T.verify_grad(f, [at], rng=rng)
    np.testing.assert_allclose(T.slinalg.cholesky(spd).eval(), np.linalg.cholesky(spd))


def test_pictures():
    x, w = T.dtensor4("x"), T.dtensor4("w")
    image, window = np.arange(25.0).reshape(1, 1, 5, 5), np.arange(9.0).reshape(1, 1, 3, 3)
    full = theano.function([x, w], T.nnet.conv2d(x, w))(image, window)
    assert full[0, 0, 0, 0] == (image[0, 0, :3, :3] * window[0, 0, ::-1, ::-1]).sum()
    assert T.nnet.conv2d(x, w, border_mode="half").eval({x: image, w: window}).shape == (1, 1, 5, 5)
    pool = T.signal.pool.pool_2d
    assert pool(x, (2, 2)).eval({x: image}).shape == (1, 1, 3, 3)
    assert pool(x, (2, 2), ignore_border=True).eval({x: image}).shape == (1, 1, 2, 2)
    from croton.theano.tensor.signal import downsample
    assert downsample.max_pool_2d(x, (2, 2), True).eval({x: image})[0, 0].tolist() == [[6, 8], [16, 18]]


def test_pickles_and_copies():
    import copy
    import pickle
    x, w = T.dvector("x"), theano.shared(np.ones(3), "w")
    f = theano.function([x], x * w, updates=[(w, w + 1)])
    g = pickle.loads(pickle.dumps(f))
    assert g(np.ones(3)).tolist() == [1, 1, 1] and w.get_value().tolist() == [1, 1, 1] and g(np.ones(3)).tolist() == [2, 2, 2]
    both = pickle.loads(pickle.dumps((x, w, T.tanh(x * w).sum())))
    assert float(both[2].eval({both[0]: np.zeros(3)})) == 0 and both[1].name == "w"
    h = copy.deepcopy(f)
    h(np.ones(3))
    assert w.get_value().tolist() == [1, 1, 1]


def test_flags_for_a_scope():
    with theano.configparser.change_flags(floatX="float32", compute_test_value="off"):
        assert T.vector().dtype == "float32"
    assert T.vector().dtype == "float64"

    @theano.change_flags(floatX="float32")
    def dtype():
        return T.vector().dtype

    assert dtype() == "float32" and theano.config.floatX == "float64"
    with pytest.raises(AttributeError):
        theano.config.no_such_flag
    theano.config.warn.subtensor_merge_bug = False


def test_test_values():
    with theano.change_flags(compute_test_value="raise"):
        x, y = T.dmatrix("x"), T.dmatrix("y")
        x.tag.test_value = np.ones((2, 3))
        assert T.exp(x).tag.test_value.shape == (2, 3)
        with pytest.raises(AttributeError):
            x + y
        y.tag.test_value = np.ones((4, 4))
        with pytest.raises(ValueError):
            T.dot(x, y)
