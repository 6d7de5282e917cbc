"""Numbers at the limits of their dtypes, as sizes, indices, operands and arguments, on every back-end."""

import numpy as np
import pytest

import croton
import croton.tensor as T

MODES = ["run", "reference", "simulate"]
TOP = 2**64 - 1


def call(mode, inputs, outputs, *arguments, **options):
    with croton.change_flags(mode=mode):
        return croton.function(inputs, outputs, **options)(*arguments)


@pytest.mark.parametrize("mode", MODES)
def test_uint64_numbers_that_int64_does_not_hold_are_outside_any_axis(mode):
    x, u = T.dvector("x"), croton.variable("uint64", [], "u")
    a = np.arange(5.0)
    for value in (3, 2**63 - 1, 2**63, TOP):
        number = np.uint64(value)
        ends = call(mode, [x, u], [x[:u], x[u:], T.tril(T.ones((3, 3)), u), T.roll(x, u)], a, number)
        wanted = [a[:value], a[value:], np.tril(np.ones((3, 3)), min(value, 9)), np.roll(a, value % 5)]
        for got, right in zip(ends, wanted):
            np.testing.assert_array_equal(got, right)
        if value > 3:
            with pytest.raises(croton.IndexError):
                call(mode, [x, u], x[u], a, number)
            with pytest.raises(croton.IndexError):
                call(mode, [x, u], T.set_subtensor(x[u], 7.0), a, number)
            with pytest.raises(croton.ShapeError, match="than an index can count"):
                call(mode, [u], T.zeros((u,)), number)
    np.testing.assert_array_equal(T.roll(T.arange(5), 2**63).eval(), np.roll(np.arange(5), 2**63 % 5))
    np.testing.assert_array_equal(T.tril(T.ones((3, 3)), 2**63).eval(), np.ones((3, 3)))


@pytest.mark.parametrize("mode", MODES)
def test_signed_and_unsigned_integers_of_64_bits_are_compared_exactly(mode):
    a, b = T.lvector("a"), croton.variable("uint64", [None], "b")
    A = np.array([2**63 - 1, -1, 5, 0, -(2**63), 2**53 + 1])
    B = np.array([2**63, TOP, 5, 0, 2**63, 2**53], "uint64")
    pairs = {"eq": np.equal, "neq": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
             "ge": np.greater_equal}
    for name, right in pairs.items():
        compare = getattr(T, name)
        found = call(mode, [a, b], [compare(a, b), compare(b, a), compare(b, -3), compare(5, b)], A, B)
        wanted = [right(A, B), right(B, A), right(B, -3), right(np.uint64(5), B)]
        for got, exact in zip(found, wanted):
            np.testing.assert_array_equal(got, exact, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
def test_borders_beyond_what_an_index_counts_are_refused(mode):
    X, F = T.tensor4("X"), T.tensor4("F")
    image, one = np.ones((1, 1, 5, 5), "float32"), np.ones((1, 1, 1, 1), "float32")
    for width in (2**63 - 1, 2**62 + 1):
        for border in ((width, 0), (0, width)):
            with pytest.raises(croton.ShapeError, match="than an index can count"):
                call(mode, [X, F], T.nnet.conv2d(X, F, border=border), image, one)
            with pytest.raises(croton.ShapeError, match="than an index can count"):
                call(mode, [X], T.nnet.pool(X, (1, 1), border=border), image)
    with pytest.raises(croton.ShapeError, match="than an index can count"):
        T.pad(T.ones((2,)), 2**62).eval()


@pytest.mark.parametrize("bounds", [(float("nan"),), (1e30,), (0.0, 1.0, 1e-30), (0, 2**63), (0, float("inf"), 1)])
def test_aranges_that_count_nothing_or_too_much_are_refused_where_they_are_made(bounds):
    with pytest.raises(ValueError, match=r"arange \(test_extremes.py:\d+\): from .*(not a range|an index can count)"):
        T.arange(*bounds)


@pytest.mark.parametrize("device", ["cpu", "cuda0"])
def test_integer_scalars_are_values_as_well_as_numbers(device):
    i, v = croton.scalar("i", dtype="int64"), T.lvector("v")
    b, flags = croton.scalar("b", dtype="bool"), croton.vector("flags", dtype="bool")
    base = np.arange(4)
    with croton.change_flags(cuda_simulator=1, device=device):
        assert list(croton.function([i, v], T.set_subtensor(v[1], i))(7, base)) == [0, 7, 2, 3]
        assert list(croton.function([i, v], T.set_subtensor(v[1], i * 3 - 4))(7, base)) == [0, 17, 2, 3]
        assert list(croton.function([i, v], T.inc_subtensor(v[i], i))(2, base)) == [0, 1, 4, 3]
        s = croton.shared(np.int64(9), "s", target="cpu")
        assert list(croton.function([v], T.set_subtensor(v[0], s))(base)) == [9, 1, 2, 3]
        assert list(croton.function([b, flags], T.set_subtensor(flags[1], b))(True, np.zeros(3, bool))) == [0, 1, 0]
        assert list(croton.function([i], T.one_hot(i, 4))(2)) == [0, 0, 1, 0]
        assert [int(n) for n in croton.function([i], list(T.unravel_index(i, (3, 4))))(7)] == [1, 3]
        assert croton.function([i], T.ravel_multi_index([i, i], (3, 4)))(2) == 10


def test_plain_numbers_stay_finite():
    x, s = T.fvector("x"), T.fscalar("s")
    assert [(x * c).dtype for c in (1e300j, 1 + 1e39j, 2j, 1e300)] == ["complex128", "complex128", "complex64", "float64"]
    with pytest.raises(croton.TypeError, match="1e[+]300 does not fit into float32"):
        croton.function([s], s)(1e300)
    assert croton.function([s], s)(float("inf")) == np.inf
    with pytest.raises(croton.TypeError, match=r"function: x is f32\[\?\]: NoneType given where an array"):
        croton.function([x, s], x * s)(None, 1)


def test_what_stands_in_for_a_variable_may_state_sizes():
    x, X = T.fvector("x"), T.fmatrix("X")
    six = croton.shared(np.arange(6.0, dtype="float32"))
    assert list(croton.function([], x * 2, givens={x: np.ones(3, "float32")})()) == [2, 2, 2]
    assert croton.function([], X * 2, givens={X: six.reshape((2, 3))})().shape == (2, 3)
    with pytest.raises(croton.ShapeError):
        croton.function([], x + X, givens={x: T.zeros((4,), dtype="float32"), X: six.reshape((2, 3))})()
    with pytest.raises(croton.TypeError, match="it must have the same dtype and number of dimensions"):
        croton.function([], x * 2, givens={x: T.zeros((3,), dtype="float64")})


def test_divisions_in_the_text_of_a_user_never_end_the_process():
    a, b = T.ivector("a"), T.ivector("b")
    A, B = np.array([7, 8, -(2**31), 9], "int32"), np.array([2, 0, -1, 4], "int32")
    quotient = croton.KernelOp(name="quotient", operands=["x", "y"], body="return x / y;")
    rest = croton.KernelOp(name="rest", operands=["x", "y"], body="return x % y;")
    q, r = croton.function([a, b], [quotient(a, b), rest(a, b)])(A, B)
    assert list(q) == [3, 0, -(2**31), 2] and list(r) == [1, 0, 0, 1]
    u, v = croton.variable("uint8", [None], "u"), croton.variable("uint8", [None], "v")
    assert list(croton.function([u, v], quotient(u, v))(np.array([9, 9], "uint8"), np.array([0, 2], "uint8"))) == [0, 4]


def test_gradients_of_users_have_the_dimensions_of_their_inputs():
    x = T.dvector("x")
    square = croton.KernelOp(name="square", operands=["x"], body="return x * x;",
                             gradient=lambda inputs, output, g: [g.sum()])
    with pytest.raises(ValueError, match=r"the gradient of square \(test_extremes.py:\d+\) by input 0: x is f64\[\?\].*"
                                         r"it must have 1 dimension\(s\), not 0"):
        croton.grad(square(x).sum(), x)
    y = croton.variable("float64", [3], "y")
    sizes = croton.KernelOp(name="sizes", operands=["x"], body="return x;", gradient=lambda i, o, g: [T.ones((5,))])
    with pytest.raises(croton.ShapeError, match="axis 0 must have size 3, not 5"):
        croton.grad(sizes(y).sum(), y)
