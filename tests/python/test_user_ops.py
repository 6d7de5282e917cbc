"""Operations of the user, made in Python."""

import numpy as np
import pytest

import croton
import croton.tensor as T


def gate():
    return croton.KernelOp("gate", ["x", "limit"], "return x > limit ? exp(x) : T(0.1) * x;",
                           gradient=lambda inputs, output, g: [g * T.where(inputs[0] > inputs[1], output, 0.1), None],
                           reference=lambda x, limit: np.exp(x) if x > limit else 0.1 * x)


@pytest.mark.parametrize("mode", ["run", "simulate", "reference"])
def test_kernel_op(mode):
    x = T.dvector("x")
    y = gate()(x, 0.5)
    with croton.change_flags(mode=mode):
        f = croton.function([x], [y, croton.grad(y.sum(), x)])
        value, slope = f([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(value, [-0.1, 0.05, np.exp(2)], rtol=1e-14)
    np.testing.assert_allclose(slope, [0.1, 0.1, np.exp(2)], rtol=1e-7)  # 0.1 is a float32 literal


def test_errors_of_kernel_op():
    with pytest.raises(croton.ValueError, match="must be a C\\+\\+ identifier"):
        croton.KernelOp("a b", ["x"], "return x;")
    x = T.vector("x")
    with pytest.raises(croton.ValueError, match="undeclared identifier 'z'"):
        croton.function([x], croton.KernelOp("broken", ["x"], "return z;")(x))([1.0])


def test_op_from_graph():
    a, b = T.dvectors("a", "b") if hasattr(T, "dvectors") else (T.dvector("a"), T.dvector("b"))
    op = croton.OpFromGraph([a, b], [a * b, a.sum()], gradient=lambda i, o, g: [g[0] * 10, None], name="f")
    x = T.dvector("x")
    product, total = op(x, x + 1)
    f = croton.function([x], [product, total, croton.grad(product.sum(), x)])
    product, total, slope = f([1.0, 2.0])
    assert product.tolist() == [2.0, 6.0]
    assert total == 3.0
    assert slope.tolist() == [10.0, 10.0]
    single = croton.OpFromGraph([a], [a * 2])
    assert croton.function([x], single(x))([3.0]).tolist() == [6.0]


def test_clone():
    x, y = T.dscalar("x"), T.dscalar("y")
    e = x * y
    assert croton.function([x, y], croton.clone(e, {x: y + 1}), on_unused_input="ignore")(100.0, 3.0) == 12.0
    both = croton.clone([e, y], [(y, x)])
    assert croton.function([x], both)(3.0) == [9.0, 3.0]
