"""Linear algebra that runs on the host."""

import numpy
import pytest

import croton.theano as theano
import croton.theano.tensor as T

linalg = pytest.importorskip("scipy.linalg")


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-5)])
def test_exponentials_of_matrices(scale, dtype, tolerance):
    a = (scale * numpy.random.RandomState(2).normal(size=(5, 5))).astype(dtype)
    found = T.slinalg.expm(theano.shared(a)).eval()
    expected = linalg.expm(a.astype("float64"))
    # Relative to the largest element: after squaring, the others contain only its rounding errors.
    assert found.dtype == dtype and abs(found - expected).max() <= tolerance * max(1, scale) * abs(expected).max()


def test_exponentials_at_the_edges():
    assert T.slinalg.expm(theano.shared(numpy.zeros((0, 0)))).eval().shape == (0, 0)
    assert numpy.isnan(T.slinalg.expm(theano.shared(numpy.array([[numpy.inf, 0], [0, 0]]))).eval()).all()
    turn = numpy.array([[0, -1j], [-1j, 0]])
    assert numpy.allclose(T.slinalg.expm(theano.shared(turn)).eval(), linalg.expm(turn))


def test_gradients_of_exponentials():
    rng = numpy.random.RandomState(4)
    T.verify_grad(T.slinalg.expm, [rng.normal(size=(4, 4))], rng=rng)
    x = T.matrix("x")
    value = rng.normal(size=(3, 3))
    gradient = T.grad(T.slinalg.expm(x).sum(), x)
    T.verify_grad(lambda a: theano.clone(gradient, {x: a}), [value], rng=rng)  # the second derivative


def test_least_squares():
    rng = numpy.random.RandomState(1)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    x, y = T.dmatrix(), T.dmatrix()
    found = theano.function([x, y], T.nlinalg.lstsq()(x, y, 1e-10))(a, b)
    for mine, its in zip(found, numpy.linalg.lstsq(a, b, 1e-10), strict=True):
        assert numpy.allclose(mine, its)
    v = T.dvector()
    assert numpy.allclose(theano.function([x, v], T.nlinalg.lstsq()(x, v, -1)[0])(a, b[:, 0]), found[0][:, 0])
    with pytest.raises(numpy.linalg.LinAlgError):
        theano.function([v], T.nlinalg.lstsq()(v, v, 1))([2.0, 1.0])


def test_products_without_zeros():
    a = numpy.array([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    assert T.elemwise.ProdWithoutZeros(axis=1)(theano.shared(a)).eval().tolist() == [6.0, 0.0]


def test_lists_of_slices_are_indices():
    a = numpy.arange(6.0).reshape(2, 3)
    assert numpy.array_equal(theano.shared(a)[[slice(None), slice(None, None, -1)]].eval(), a[:, ::-1])


def test_types_of_scalars_read_as_their_dtypes():
    assert [str(t) for t in theano.scalar.int_types] == ["int8", "int16", "int32", "int64"]
    assert theano.scalar.float32 == T.TensorType("float32", ()) and theano.scalar.Scalar("int8")().ndim == 0
