"""States of NumPy's generator: of RandomStreams, as shared variables, and as arguments of raw_random's draws."""

import copy
import pickle

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T
from croton.theano.compile import In
from croton.theano.tensor import raw_random
from croton.theano.tensor.shared_randomstreams import RandomStateSharedVariable, RandomStreams

RandomState = numpy.random.RandomState


def same(a, b):
    return raw_random.random_state_type.values_eq(a, b)


def test_states_of_draws():
    random = RandomStreams(234)
    draw = random.uniform((2, 2))
    f = theano.function([], draw)
    assert isinstance(draw.rng, RandomStateSharedVariable)
    state = draw.rng.get_value(borrow=True)
    assert isinstance(state, RandomState) and draw.rng.get_value(borrow=True) is state
    expected = copy.deepcopy(state).uniform(size=(2, 2))
    assert (f() == expected).all()
    assert draw.rng.get_value(borrow=True) is state  # updated
    assert same(draw.rng.get_value(), state)
    random[draw.rng] = RandomState(5)
    assert (f() == RandomState(5).uniform(size=(2, 2))).all()
    assert random.state_updates[0][0] is draw.rng
    with pytest.raises(TypeError):
        draw.rng.set_value(3)


def test_shapes_that_do_not_fit():
    random = RandomStreams(1)
    with pytest.raises(ValueError):
        random.uniform((2, 2), ndim=1)
    shape = T.lvector()
    f = theano.function([shape], random.uniform(shape, ndim=2))
    assert f([2, 3]).shape == (2, 3)
    for wrong in ([4], [1, 2, 3]):
        with pytest.raises(ValueError):
            f(wrong)


def test_whole_numbers_of_other_dtypes_wrap_round():
    draw = RandomStreams(1).random_integers(size=(20,), low=255, high=257, dtype="int8")
    assert draw.dtype == "int8" and set(theano.function([], draw)().tolist()) <= {-1, 0, 1}
    assert theano.function([], [], updates=[draw.update])() == []


def test_shared_states():
    state = RandomState(123)
    assert theano.shared(state).container.storage[0] is not state
    kept = theano.shared(state, borrow=True)
    assert kept.container.storage[0] is state
    after, draw = raw_random.normal(kept, (3,))
    f = theano.function([], draw, updates=[(kept, after)])
    expected = RandomState(123)
    assert (f() == expected.normal(size=3)).all() and (f() == expected.normal(size=3)).all()


def test_states_as_arguments_and_results():
    r = raw_random.random_state_type("r")
    after, draw = raw_random.uniform(r, (4,), -2.0, 2.0)
    f = theano.function([r], [after, draw])
    given = RandomState(7)
    state, values = f(given)
    assert same(given, RandomState(7)) and not same(state, given)
    expected = RandomState(7)
    assert (values == expected.uniform(-2, 2, 4)).all() and same(state, expected)
    with pytest.raises(TypeError):
        f(7)


def test_states_that_functions_keep():
    r = raw_random.random_state_type()
    after, draw = raw_random.uniform(r, (3,))
    given = RandomState(7)
    f = theano.function([In(r, value=given, update=after, mutable=False)], draw)
    expected = RandomState(7)
    assert (f() == expected.uniform(size=3)).all() and (f() == expected.uniform(size=3)).all()
    assert same(given, RandomState(7)) and same(f[r], expected)
    g = theano.function([In(r, value=given, update=after, mutable=True)], draw)
    g()
    assert g[r] is given and not same(given, RandomState(7))


@pytest.mark.parametrize("name, size, arguments, numpys", [
    ("uniform", (5,), {"low": -1.0, "high": 3.0}, lambda s: s.uniform(-1, 3, 5)),
    ("normal", (2, 3), {"avg": 4.0, "std": 2.0}, lambda s: s.normal(4, 2, (2, 3))),
    ("binomial", (7,), {"n": 5, "p": 0.8}, lambda s: s.binomial(5, 0.8, 7)),
    ("random_integers", (6,), {"low": -3, "high": 16}, lambda s: s.randint(-3, 17, 6)),
    ("choice", (4,), {"a": 10, "replace": False}, lambda s: s.choice(10, 4, False)),
    ("poisson", (8,), {"lam": 5.0}, lambda s: s.poisson(5.0, 8)),
    ("permutation", (2,), {"n": 6}, lambda s: [s.permutation(6) for _ in range(2)]),
    ("multinomial", (3,), {"n": 9, "pvals": [0.2, 0.3, 0.5]}, lambda s: s.multinomial(9, [0.2, 0.3, 0.5], 3)),
])
def test_draws_are_numpys(name, size, arguments, numpys):
    r = raw_random.random_state_type()
    after, draw = getattr(raw_random, name)(r, size, **arguments)
    state, values = theano.function([r], [after, draw])(RandomState(3))
    expected = RandomState(3)
    assert (values == numpys(expected)).all() and same(state, expected)
    # RandomStreams draw the same, without Python
    stream = getattr(RandomStreams(1), name)(size, **arguments)
    stream.rng.set_value(RandomState(3))
    assert (theano.function([], stream)() == values).all()


def test_parameters_tell_the_shape():
    r, low = raw_random.random_state_type(), T.dvector()
    f = theano.function([r, low], raw_random.uniform(r, low=low, high=1)[1])
    assert (f(RandomState(2), [0.5, -1]) == RandomState(2).uniform([0.5, -1], 1)).all()
    pvals = T.dtensor3()
    draw = raw_random.multinomial(r, size=(10, 1, -1), n=9, pvals=pvals)[1]
    assert draw.broadcastable == (False, True, False, False)
    values = theano.function([r, pvals], draw)(RandomState(1), [[[0.1, 0.9], [0.5, 0.5]]])
    assert values.shape == (10, 1, 2, 2) and (values.sum(axis=3) == 9).all()
    for wrong in (lambda: raw_random.poisson(r), lambda: raw_random.permutation(r, ndim=2)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError):
        raw_random.uniform(r, (2,), low=T.dmatrix())


def test_draws_of_functions_of_the_user():
    def coins(state, p, size):
        return state.uniform(size=size) < p

    r = raw_random.random_state_type()
    after, draw = raw_random.RandomFunction(coins, T.bvector)(r, (6,), 0.5)
    assert draw.type == T.bvector and draw.owner.op == raw_random.RandomFunction(coins, T.bvector)
    assert (theano.function([r], draw)(RandomState(1)) == (RandomState(1).uniform(size=6) < 0.5)).all()
    after, draw = raw_random.RandomFunction(coins, T.bmatrix)(r, (6,), 0.5)
    with pytest.raises(ValueError, match="dimensions"):
        theano.function([r], draw)(RandomState(1))
    with pytest.raises(theano.gradient.NullTypeGradError):
        theano.grad(raw_random.uniform(r, (2,), low=(x := T.dscalar()))[1].sum(), x)


def test_pickles_of_draws():
    r = raw_random.random_state_type()
    f = theano.function([r], raw_random.uniform(r, (3,))[1])
    assert (pickle.loads(pickle.dumps(f))(RandomState(1)) == RandomState(1).uniform(size=3)).all()
    kept = pickle.loads(pickle.dumps(theano.shared(RandomState(4))))
    assert same(kept.get_value(), RandomState(4))


def test_truncated_numbers_of_mrg():
    from croton.theano.sandbox.rng_mrg import MRG_RandomStreams
    values = theano.function([], MRG_RandomStreams(3).normal((50, 50), std=2.0, truncate=True))()
    assert abs(values).max() <= 4 and abs(values.std() - 2 * 0.8796) < 0.05
    values = theano.function([], MRG_RandomStreams(3).truncated_normal((50, 50), std=2.0))()
    assert 4 < abs(values).max() < 4.6 and abs(values.std() - 2) < 0.06


@pytest.mark.parametrize("kind", [RandomStreams, theano.sandbox.rng_mrg.MRG_RandomStreams])
def test_pickled_streams_go_on(kind):
    random = kind(42)
    random.normal((3,))
    random.seed(43)
    again, copied = pickle.loads(pickle.dumps(random)), copy.deepcopy(random)
    values = [theano.function([], streams.uniform((2,)))().tolist() for streams in (random, again, copied)]
    assert values[0] == values[1] == values[2]


def test_draws_by_functions_of_the_user():
    def coins(state, size, p):
        return raw_random.RandomFunction(lambda state, p, size: state.uniform(size=size) < p, T.bvector)(state, size, p)

    random = RandomStreams(3)
    draw = random.gen(coins, (6,), 0.5)
    f = theano.function([], draw)
    expected = RandomState(int(RandomState(3).randint(2 ** 30)))
    for _ in range(2):
        assert (f() == (expected.uniform(size=6) < 0.5)).all()
    assert random.state_updates == [draw.update] and same(draw.rng.get_value(), expected)
