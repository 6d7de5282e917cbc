"""Pickles of expressions and compiled functions."""

import copy
import pickle

import numpy
import pytest

import croton
import croton.tensor as T


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def test_an_expression_is_made_of_the_variables_that_are_pickled_with_it():
    x = T.matrix("x", dtype="float32")
    y = (T.exp(x) * 2).sum(axis=0)
    y.name = "y"
    x2, y2 = again((x, y))
    assert (y2.name, y2.type, x2.name, x2.type) == ("y", y.type, "x", x.type)
    value = numpy.array([[0, 1], [2, 3]], "float32")
    assert numpy.array_equal(y2.eval({x2: value}), y.eval({x: value}))
    with pytest.raises(croton.MissingInputError):
        y2.eval({x: value})


def test_sizes_and_constants_stay():
    x = croton.variable("int16", [None, 3], "x")
    c = croton.constant(numpy.array([1, 2, 3], "int16"), "c")
    x2, y = again((x, x + c))
    assert x2.sizes == (None, 3) and y.dtype == "int16" and y.sizes == (None, 3)
    assert y.eval({x2: numpy.zeros((1, 3), "int16")}).tolist() == [[1, 2, 3]]


def test_a_function_keeps_its_inputs_updates_and_givens():
    x, lr = T.dvector("x"), T.dscalar("lr")
    w = croton.shared(numpy.ones(3), name="w")
    state = croton.shared(numpy.int64(0), name="state")
    error = x - w
    f = croton.function([x, croton.In(lr, name="rate", value=0.5)], [croton.Out(error, borrow=True), error.sum()],
                        updates={w: w + lr * error}, givens=[(state, state + 1)], name="step")
    g = again(f)
    assert g.name == "step"
    value = numpy.array([1.0, 2.0, 4.0])
    for _ in range(2):  # each has separate shared variables
        for mine, its in zip(f(value), g(value), strict=True):
            assert numpy.array_equal(mine, its)
    assert numpy.array_equal(g(value, rate=0.0)[0], value - w.get_value())
    assert f(x=value)[1] == g(x=value)[1]


def test_shared_variables_of_one_pickle_stay_shared():
    w = croton.shared(2.0, name="w")
    w2, f = again((w, croton.function([], w * 3)))
    w2.set_value(5.0)
    assert f() == 15.0 and w.get_value() == 2.0


def test_loops_are_pickled_and_have_gradients():
    x, w = T.dvector("x"), T.dscalar("w")
    states, _ = croton.scan(lambda step, before: before * w + step, sequences=[x], outputs_info=[T.zeros((), "float64")])
    x2, w2, last = again((x, w, states[-1]))
    value = numpy.array([1.0, 2.0, 3.0])
    assert last.eval({x2: value, w2: 2.0}) == 1 * 4 + 2 * 2 + 3
    assert croton.grad(last, w2).eval({x2: value, w2: 2.0}) == 2 * 1 * 2.0 + 2
    f = again(croton.function([x, w], [states, croton.grad(states[-1], w)]))
    assert f(value, 2.0)[0].tolist() == [1.0, 4.0, 11.0] and f(value, 2.0)[1] == 6.0


def test_loops_in_loops_and_branches_are_pickled():
    m, c = T.dmatrix("m"), T.dscalar("c")

    def row_sum(row):
        sums, _ = croton.scan(lambda v, total: total + croton.ifelse(c > 0, v, -v), sequences=[row],
                              outputs_info=[T.zeros((), "float64")])
        return sums[-1]

    sums, _ = croton.scan(row_sum, sequences=[m])
    f = again(croton.function([m, c], sums))
    value = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    assert f(value, 1.0).tolist() == [3.0, 7.0] and f(value, -1.0).tolist() == [-3.0, -7.0]


def test_deep_expressions_are_pickled():
    x = T.dscalar("x")
    y = x
    for _ in range(3000):
        y = y + 1
    x2, y2 = again((x, y))
    assert y2.eval({x2: 0.0}) == 3000


def test_what_a_callback_computes_is_refused():
    op = croton.HostOp("mine", lambda x: [(x.dtype, [])], lambda x: [x.sum()])
    x = T.dvector("x")
    for thing in (op(x), croton.function([x], op(x) + 1)):
        with pytest.raises(TypeError, match="the op 'mine.*' has no text"):
            pickle.dumps(thing)


def test_copies_of_functions_and_variables():
    x = T.dscalar("x")
    f = croton.function([x], x + 1)
    assert copy.deepcopy(f)(1.0) == 2.0
    assert copy.copy(x) is x
    w = croton.shared(1.0, name="w")
    for other in (copy.copy(w), copy.deepcopy(w)):
        other.set_value(7.0)
        assert w.get_value() == 1.0 and other.name == "w"
