"""Complex numbers from Python: arrays of NumPy, plain numbers, parts, gradients."""

import numpy as np
import pytest

import croton
import croton.tensor as T

Z = np.array([[1 + 2j, -0.5 + 0j, 3j], [0.25 - 4j, -1 - 1j, 2 + 0j]])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arrays_go_both_ways(dtype):
    x = T.matrix("x", dtype)
    f = croton.function([x], [x, x.T, x[::-1, 1:]])
    for array in (Z.astype(dtype), np.asfortranarray(Z.astype(dtype)), Z.astype(dtype)[::-1, ::-1]):
        same, turned, part = f(array)
        assert same.dtype == dtype and turned.dtype == dtype
        np.testing.assert_array_equal(same, array)
        np.testing.assert_array_equal(turned, array.T)
        np.testing.assert_array_equal(part, array[::-1, 1:])


def test_functions_agree_with_numpy():
    z = T.zmatrix("z")
    names = "exp sin cos tan sinh cosh tanh sqrt log abs real imag conj angle isnan isinf".split()
    results = croton.function([z], [getattr(T, name)(z) for name in names])(Z)
    for name, result in zip(names, results):
        expected = getattr(np, name)(Z)
        assert result.dtype == expected.dtype, name
        np.testing.assert_allclose(result, expected, rtol=1e-14, err_msg=name)
    f = croton.function([z], [z.sum(axis=0), z.prod(), z.mean(axis=1), z.var(), T.dot(z, z.T), z.real, z.imag, z.conj()])
    expected = [Z.sum(axis=0), Z.prod(), Z.mean(axis=1), Z.var(), Z @ Z.T, Z.real, Z.imag, Z.conj()]
    for result, value in zip(f(Z), expected):
        np.testing.assert_allclose(result, value, rtol=1e-13)


def test_plain_complex_numbers():
    x, z = T.fvector("x"), T.cscalar("z")
    assert (x * 1j).dtype == "complex64" and (1j + x).dtype == "complex64"
    assert croton.constant(2j).dtype == "complex64"
    f = croton.function([x, z], [x * 2j, (1 - 1j) / (x + 1), z * 2])
    a, b, c = f(np.array([1, 2], np.float32), 0.1 + 1j)
    np.testing.assert_array_equal(a, np.array([2j, 4j], np.complex64))
    np.testing.assert_allclose(b, (1 - 1j) / np.array([2, 3]), rtol=1e-6)
    np.testing.assert_allclose(c, 0.2 + 2j, rtol=1e-6)
    np.testing.assert_array_equal(T.complex(x, 1).eval({x: np.array([1, 2], np.float32)}), np.array([1 + 1j, 2 + 1j]))
    np.testing.assert_allclose(T.complex_from_polar(2, np.float64(np.pi / 2)).eval(), 2j, atol=1e-15)


def test_shared_variables_and_gradients():
    w = croton.shared(np.array([1 + 1j, 2 - 1j]), "w")
    cost = T.abs(w).sum() + T.sqr(w.real).sum()
    g = T.grad(cost, w)
    assert g.dtype == "complex128"
    value = w.get_value()
    np.testing.assert_allclose(g.eval(), value / abs(value) + 2 * value.real, rtol=1e-14)
    croton.function([], [], updates=[(w, w - 0.5 * g)])()
    np.testing.assert_allclose(w.get_value(), value - 0.5 * (value / abs(value) + 2 * value.real), rtol=1e-14)
    w.set_value(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(w.get_value(), np.array([1 + 0j, 2 + 0j]))


def test_what_is_refused():
    z, x = T.zvector("z"), T.dvector("x")
    for wrong in (lambda: z < 1, lambda: T.maximum(z, z), lambda: z.max(), lambda: z.astype("float64"),
                  lambda: T.grad(z.sum(), z), lambda: z // 2):
        with pytest.raises(croton.TypeError):
            wrong()
    with pytest.raises(croton.TypeError, match="real, imag or abs"):
        T.cast(z, "float32")
    with pytest.raises(croton.TypeError):
        croton.function([x], x + 1)(Z[0])
