"""Functions of theano.tensor in the edge cases that programs use, compared with NumPy's values."""

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T


def value(expression):
    return theano.function([], expression)()


def test_maxima_of_complex_numbers_are_by_real_then_imaginary_part():
    a = numpy.array([1 + 2j, 1 - 2j, 3 + 0j, complex(numpy.nan, 1)])
    b = numpy.array([1 + 1j, 1 + 1j, 2 + 9j, 5 + 0j])
    x, y = theano.shared(a), theano.shared(b)
    assert numpy.array_equal(value(T.maximum(x, y)), numpy.maximum(a, b), equal_nan=True)
    assert numpy.array_equal(value(T.minimum(x, y)), numpy.minimum(a, b), equal_nan=True)


def test_second_takes_the_shape_that_both_broadcast_to():
    a, b = numpy.zeros((3, 1)), numpy.array([1.0, 2.0])
    found = value(T.second(T.constant(a), theano.shared(b)))
    assert numpy.array_equal(found, [[1.0, 2.0]] * 3)
    assert value(T.second(theano.shared(numpy.zeros(2)), 4)).tolist() == [4, 4]
    assert value(T.second(T.constant(a.astype("complex128")), theano.shared(b + 1j))).tolist() == [[1 + 1j, 2 + 1j]] * 3


def test_remainders_of_complex_numbers_are_refused():
    with pytest.raises(theano.scalar.ComplexError, match="remainder"):
        T.cvector() % 5


def test_minimum_of_bool():
    x = theano.shared(numpy.array([[True, False], [True, True]]))
    assert value(T.min(x, axis=1)).tolist() == [False, True] and T.min(x).dtype == "bool"


def test_nonzero_as_a_matrix():
    a = numpy.array([[0, 3, 0], [4, 0, 5]])
    assert numpy.array_equal(value(T.nonzero(theano.shared(a), return_matrix=True)), numpy.vstack(numpy.nonzero(a)))
    for function in (T.nonzero, T.nonzero_values, T.flatnonzero):
        with pytest.raises(ValueError, match="non-scalar"):
            function(T.scalar())


def test_flatten_keeps_what_broadcasts():
    kinds = {(False, False): 2, (False, True): 2, (True, True): 1}
    for last, ndim in kinds.items():
        x = T.TensorType("float64", (False, *last))()
        assert T.flatten(x, ndim).broadcastable[-1] == (all(last) and ndim > 1)


def test_permutations_keep_their_dtype():
    p = numpy.array([2, 0, 1], "int32")
    inverse = T.inverse_permutation(theano.shared(p))
    assert inverse.dtype == "int32" and value(inverse).tolist() == [1, 2, 0]


def test_permuted_rows_broadcast():
    rows, order = numpy.arange(6.0).reshape(2, 3), numpy.array([2, 0, 1], "int32")
    found = value(T.permute_row_elements(theano.shared(rows), theano.shared(order)))
    assert numpy.array_equal(found, rows[:, order])
    found = value(T.permute_row_elements(theano.shared(rows[0]), theano.shared(numpy.stack([order, order[::-1]]))))
    assert numpy.array_equal(found, [rows[0][order], rows[0][order[::-1]]])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choices_in_one_variable_broadcast(mode):
    choices = numpy.arange(12.0).reshape(3, 4)
    for chosen in (numpy.array([0, 2, 1, 0]), numpy.array(1), numpy.array([[0, 1, 2, 2], [2, 2, 0, 1]])):
        if mode != "raise":
            chosen = chosen + 2
        found = value(T.choose(theano.shared(chosen), theano.shared(choices), mode=mode))
        assert numpy.array_equal(found, numpy.choose(chosen, choices, mode=mode))


def test_axes_that_are_not_there():
    for x in (2, [2, 1]):
        with pytest.raises(IndexError):
            T.swapaxes(x, 0, 1)


@pytest.mark.parametrize("reps", [2.5, T.fscalar(), T.fvector(), T.imatrix()])
def test_tiles_are_counted_by_whole_numbers(reps):
    with pytest.raises(ValueError):
        T.tile(T.vector(), reps)


def test_empty_indices():
    x = T.dmatrix("x")
    for index in ((slice(None), []), (slice(None), ()), []):
        assert theano.function([x], x[index])(numpy.ones((2, 3))).shape == numpy.ones((2, 3))[index].shape
    assert T.scalar()[None].ndim == 1
    assert T.as_tensor_variable([]).dtype == theano.config.floatX


def test_functions_of_numpy_take_variables():
    x = T.dvector("x")
    a = numpy.array([0.5, 2.0])
    for expression, expected in ((numpy.exp(x), numpy.exp(a)), (a * x, a * a), (numpy.maximum(a, x), a), (a > x, a > a),
                                 (numpy.arctan2(x, a), numpy.arctan2(a, a)), (a - x, a - a)):
        assert numpy.array_equal(theano.function([x], expression)(a), expected)
    with pytest.raises(TypeError):
        numpy.add.reduce(x)


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("part", [slice(None), slice(1, -1), slice(None, None, -1), slice(-2, -9, -2), slice(9, 1, -3),
                                  slice(3, 1), slice(-3, None, 2)])
def test_canonical_slices(part, length):
    a = numpy.arange(length)
    canonical, direction = T.subtensor.get_canonical_form_slice(part, T.constant(length))
    bounds = [int(T.as_tensor_variable(n).eval()) for n in (canonical.start, canonical.stop, canonical.step, direction)]
    assert 0 <= bounds[0] <= bounds[1] and bounds[2] > 0
    assert numpy.array_equal(a[bounds[0]:bounds[1]:bounds[2]][::bounds[3]], a[part])


def test_windows_that_go_on_at_the_other_side():
    image = numpy.arange(16.0).reshape(1, 1, 4, 4)
    found = value(T.nnet.images2neibs(theano.shared(image), (3, 3), (2, 2), mode="wrap_centered"))
    expected = [[image[0, 0, (i + di) % 4, (j + dj) % 4] for di in (-1, 0, 1) for dj in (-1, 0, 1)]
                for i in (0, 2) for j in (0, 2)]
    assert numpy.array_equal(found, expected)


def test_windows_of_more_than_127_elements():
    # As constants their sizes are int8, whose product would overflow.
    image = numpy.arange(33.0 * 66).reshape(1, 1, 33, 66)
    found = value(T.nnet.images2neibs(theano.shared(image), T.as_tensor_variable((33, 33))))
    assert numpy.array_equal(found[1], image[0, 0, :, 33:].ravel())


def test_constants_of_floats_as_asked_for():
    with theano.scalar.autocast_float_as("float64"):
        assert (T.fvector() + 1.0).dtype == "float64"
        with theano.scalar.autocast_float_as("float32"):
            assert (T.fvector() + 1.1).dtype == "float32"
    assert (T.fvector() + 1.0).dtype == "float32" and theano.scalar.autocast_float.dtypes[0] == "float16"


def test_known_values():
    assert T.get_scalar_constant_value(T.zeros_like(T.matrix())) == 0
    for unknown in (numpy.array([]), T.constant(numpy.array([]))):
        with pytest.raises(T.EmptyConstantError):
            T.get_scalar_constant_value(unknown)
    with pytest.raises(T.NotScalarConstantError):
        T.get_scalar_constant_value(T.opt.Assert()(T.constant(2), T.constant(2) > 3))
    with pytest.raises(TypeError, match="True or False"):
        T.as_tensor_variable(True)
    assert value(T.max(theano.shared(numpy.ones((2, 3))), T.NoneConst)) == 1
