"""Functions whose inputs have values, and their containers, copies and pickles."""

import copy
import pickle

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.compile import In


def accumulator(**options):
    """f(x): the sum of all x so far, times a."""
    a, x, s = T.scalars("axs")
    return theano.function([x, In(a, value=1.0), In(s, value=0.0, update=s + a * x, **options)], s + a * x), a, x, s


def test_a_state_is_updated_by_each_call():
    f, _, _, s = accumulator()
    assert f(3) == 3 and f(4) == 7
    assert f[s] == 7 and f["s"] == 7 and f[2] == 7


def test_a_default_is_there_again_after_a_call():
    f, a, _, s = accumulator()
    assert f(3, a=2) == 6 and f[a] == 1 and f(1) == 7
    f[a] = 5  # for one call
    assert f(1) == 12 and f[a] == 1 and f(1) == 13
    f[s] = 100
    assert f(1) == 101


def test_a_value_that_is_given_for_a_state_stays():
    f, _, _, s = accumulator()
    assert f(1, 1, 10) == 11 and f[s] == 11


def test_a_call_that_raises_leaves_states_as_they_were():
    x, s = T.vector("x"), T.vector("s")
    f = theano.function([x, In(s, value=numpy.zeros(2), update=s + x)], s)
    f([1, 2])
    with pytest.raises(ValueError):
        f([1, 2, 3])
    with pytest.raises(TypeError, match="index 0"):
        f([[1, 2]])
    assert f[s].tolist() == [1, 2]


def test_arguments_of_stateful_functions():
    f, _, _, _ = accumulator()
    for arguments, names in [((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 2}), ((1,), {"y": 2})]:
        with pytest.raises(TypeError):
            f(*arguments, **names)


def test_functions_share_a_container():
    f, a, x, s = accumulator()
    g = theano.function([x, In(s, value=f.container[s], update=s - x, implicit=False)], [])
    shown = theano.function([In(s, value=f.container[s])], s)
    f(5)
    assert g[s] is f[s] and shown() == 5
    g(1)
    assert f[s] == 4
    g(1, 0)
    assert f[s] == -1
    with pytest.raises(TypeError, match="implicit"):
        shown(3)


def test_an_input_that_is_a_shared_variable():
    x, y = T.scalars("xy")
    kept = theano.shared(2.0, "kept")
    f = theano.function([x, In(y, value=kept, update=y + x)], x * y)
    assert f(3) == 6 and kept.get_value() == 5
    kept.set_value(10.0)
    assert f(1) == 10 and f[y] == 11


def test_containers_of_plain_functions():
    x, w = T.scalar("x"), theano.shared(3.0, "w")
    f = theano.function([x], x * w)
    assert x in f.container and f.container[x].storage[0] is None
    assert f.container[w] is w.container and f["w"] == 3 and f.value[w] == 3
    f[w] = 4.0
    assert f(2) == 8
    with pytest.raises(KeyError):
        f.container["nothing"]
    with pytest.raises(TypeError):
        f["nothing"]


def test_names_that_stand_twice():
    x, y = T.scalar("x"), T.scalar("x")
    f = theano.function([x, In(y, value=1.0)], x - y)
    assert f(3) == 2
    with pytest.raises(TypeError, match="Ambiguous"):
        f.container["x"]


def test_parts_of_the_outputs():
    x, s = T.scalars("xs")
    f = theano.function([x, In(s, value=1.0, update=s + 1)], {"sum": x + s, "product": x * s})
    assert f(2) == {"sum": 3, "product": 2}
    assert f(2, output_subset=["product"]) == {"product": 4}
    g = theano.function([x, In(s, value=1.0, update=s + 1)], [x + s, x * s])
    assert g(2, output_subset=[1]) == [2]


def test_copies_have_states_of_their_own():
    f, a, x, s = accumulator()
    f(1)
    for g in (copy.copy(f), f.copy(name="g")):
        assert g.container[s].storage is not f.container[s].storage and g[s] == 1
        assert g(2) == [3] and f[s] == 1  # a copy's outputs are a list, as in Theano
        assert g[a] is f[a]
    assert f.copy(delete_updates=True)[s] == 1


def test_a_copy_without_updates():
    x, n = T.scalar("x"), theano.shared(1.0, "n")
    f = theano.function([x], x + n, updates={n: n + 1})
    g = f.copy(delete_updates=True)
    assert g(1) == [2] and g(1) == [2]
    f(1)
    assert g(1) == [3]


def test_swaps():
    x, index = T.scalar("x"), T.iscalar("i")
    data, other = theano.shared(numpy.array([1.0, 2.0])), theano.shared(numpy.array([10.0, 20.0]))
    n, m = theano.shared(0.0, "n"), theano.shared(0.0, "m")
    f = theano.function([index], x * 2, givens={x: data[index]}, updates={n: n + x})
    g = f.copy(swap={data: other, n: m})
    assert f(1) == 4 and g(1) == [40] and n.get_value() == 2 and m.get_value() == 20
    assert [i.value for i in g.maker.inputs[1:]] == [other.container, m.container]
    with pytest.raises(ValueError, match="not found"):
        f.copy(swap={other: data})


def test_deep_copies():
    f, a, x, s = accumulator()
    f(3)
    g = copy.deepcopy(f)
    assert x not in g.container and g[2] == 3 and g[2] is not f[2]
    assert g(1) == 4 and f[s] == 3
    again, f2 = copy.deepcopy((s, theano.function([x, In(s, value=f.container[s])], x + s)))
    assert f2[again] == 3


def test_pickles():
    f, a, x, s = accumulator()
    f(3)
    g = theano.function([In(s, value=f.container[s], update=s * 2)], s)
    f2, g2, s2 = pickle.loads(pickle.dumps((f, g, s)))
    assert f2.container[s2] is g2.container[s2] and f2.container[s2] is not f.container[s]
    assert g2() == 3 and f2[s2] == 6 and f2(1) == 7 and f[s] == 3
    assert f2(1, a=2) == 9 and f2["a"] == 1


def test_pickles_of_functions_keep_what_givens_replace():
    x, y = T.vectors("xy")
    middle = T.exp(x)
    f = pickle.loads(pickle.dumps(theano.function([y], (middle * 2).sum(), givens={middle: y})))
    assert f([1, 2]) == 6


def test_dumps_of_arguments(tmp_path):
    x, w = T.vector("x"), theano.shared(2.0, "w")
    theano.function_dump(str(tmp_path / "f"), [x], {"y": x * w}, updates={w: w + 1})
    with open(tmp_path / "f", "rb") as file:
        f = theano.function(**pickle.load(file))
    assert f([1, 2])["y"].tolist() == [2, 4] and f([1, 2])["y"].tolist() == [3, 6] and w.get_value() == 2


@theano.as_op([T.dvector], T.dvector)
def doubled(x):
    return 2 * x


def test_pickles_of_operations():
    x = T.dvector("x")
    y, x2 = pickle.loads(pickle.dumps((doubled(x) + 1, x)))
    assert y.eval({x2: [1, 2]}).tolist() == [3, 5] and y.owner.inputs[0].owner.op is doubled

    @theano.as_op([T.dvector], T.dvector)
    def nameless(x):
        return x

    with pytest.raises(pickle.PicklingError):
        pickle.dumps(nameless(x))


def test_borrowed_values_are_the_same_array():
    x = theano.shared(numpy.ones(3))
    value = x.get_value(borrow=True)
    assert x.get_value(borrow=True) is value and x.get_value() is not value
    value *= 4
    x.set_value(value, borrow=True)
    assert x.get_value(borrow=True) is value
    theano.function([], [], updates={x: x + 1})()
    assert x.get_value(borrow=True).tolist() == [5, 5, 5]


def test_shared_variables_of_a_type():
    x = theano.compile.SharedVariable(name="x", type=T.dvector, value=[1, 2], strict=False)
    assert isinstance(x, T.sharedvar.TensorSharedVariable) and x.get_value().dtype == "float64"
    assert (x * 2).eval().tolist() == [2, 4]
    with pytest.raises(TypeError):
        theano.compile.SharedVariable(name="x", type=T.dvector, value={}, strict=False)


def test_default_updates_follow_what_is_used():
    x = theano.shared(0)
    x.default_update = x + 1
    double = 2 * x
    assert theano.function([double], double)(21) == 21 and x.get_value() == 0  # x is computed from the given
    y = T.lscalar()
    assert theano.function([y], x + 10, givens={x: y})(1) == 11 and x.get_value() == 0
    f = theano.function([], x)
    f()
    del x.default_update
    theano.function([], x)()
    assert x.get_value() == 1
    f()  # compiled before
    assert x.get_value() == 2
    for wrong in (x, "x"):
        with pytest.raises(TypeError):
            theano.function([], x, no_default_updates=wrong)


def test_givens_of_what_they_replace():
    x = theano.shared(1.0)
    x.default_update = x + 3
    f = theano.function([], x + 10, givens={x: x + 10})
    assert f() == 21 and f() == 34


def test_givens_of_other_types():
    matrix, x, y = T.imatrix(), T.ivector(), T.ivector()
    with pytest.raises(TypeError, match="Cannot convert Type"):
        theano.function([matrix, y], x * y, givens={x: matrix})
    f = theano.function([matrix, y], x * y, givens={x: matrix}, rebuild_strict=False)
    assert f(numpy.ones((2, 3), "int32"), [1, 2, 3]).tolist() == [[1, 2, 3]] * 2
    assert theano.function([y], x * y, givens={x: numpy.array([4, 4], "int32")})([1, 2]).tolist() == [4, 8]


class HalfDefined(theano.Op):
    """x * y, without a gradient with respect to y."""

    def make_node(self, x, y):
        return theano.gof.Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * inputs[1]

    def grad(self, inputs, gradients):
        return [gradients[0] * inputs[1], theano.gradient.grad_undefined(self, 1, inputs[1], "so it is")]


def test_an_undefined_gradient_concerns_its_input_alone():
    x, y = T.dvectors("xy")
    cost = HalfDefined()(x, y).sum()
    assert theano.grad(cost, x).eval({x: [1, 2], y: [3, 4]}).tolist() == [3, 4]
    with pytest.raises(theano.gradient.NullTypeGradError, match="so it is"):
        theano.grad(cost, [x, y])
    by_x, by_y = theano.grad(cost, [x, y], null_gradients="return")
    assert isinstance(by_x.type, T.TensorType) and isinstance(by_y.type, theano.gof.NullType)
